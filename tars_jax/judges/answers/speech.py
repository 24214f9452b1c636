"""Words that answers are put in: what is free beside an answer, and what speaks against it."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Free: who speaks, how sure, from where, and the verbs of saying what something is.
FRAMES = _words(
    """a an the it its this that these those there here he she they we i you my our your his her their them him us
    me who which what whose where when one in on at of by to as for from with into about is was are were be
    being been am has have had having do does did will would shall should may might could can must go think
    believe guess suppose say saying answer answers answered assume suspect reckon sure certain certainly
    confident confidently fairly pretty quite reasonably very likely probably perhaps maybe possibly presumably
    undoubtedly doubtless unquestionably
    apparently surely definitely clearly indeed seems seem appears appear looks look like best knowledge know
    tell far remember recall according based source sources page article entry text table encyclopedia website
    document infobox says said states stated shows show shown lists listed gives given found find reads read
    mentions mentioned reports reported indicates indicate evidence points conclude conclusion means mean stands
    stand dates dating lasts lasted
    called calls named known name names refers identified described ie namely live lives lived living hang
    hangs stood lie lies located situated based kept ended ends pay pays use uses used counts count click press
    choose select goes come comes here there under through via among onto along approximately around roughly
    circa ca c approx exactly precisely total overall altogether just simply also too full now currently today
    correct right answer result final finally therefore thus hence so then yes okay ok sure well such most some
    both le la el il der die das den am people inhabitants residents persons person item items number value
    amount old long high tall wide deep large big city town village country state island river mountain place
    man woman thing relevant required requested respective
    flag option switch parameter setting command file"""
)
KINDS = _words(
    """city town village country state island river mountain lake place capital name person man woman company ship
    planet name province region district republic kingdom"""
)
TITLES = _words(
    """mr mrs ms miss dr doctor prof professor sir dame madame king queen emperor empress pope saint lord lady president
    senator general captain"""
)
# Parts of names of places, which a name that is asked for by its kind need not have: "which river": Mississippi.
LANDFORMS = _words("mount mt lake river ocean sea desert gulf bay strait")
PERSONS = re.compile(
    r"\bwho(?:m|se)?\b|\b(?:actor|actress|artist|author|composer|director|founder|inventor|man|painter|people|person"
    r"|physicist|player|president|scientist|singer|winner|woman|writer)s?\b",
    re.IGNORECASE,
)
CALENDAR = _words("year years month day days date century decade era")  # free beside a day
BEGINS = _words("began begins started starts ran runs opened opens open held took takes ended ends")  # beside a span
PREPOSITIONS = _words("in at on by from with for during since after according as under through via until")
NEGATIONS = _words("not no never none neither nor without except unlike nobody nothing")
# Say "not" of what they stand with: "I excluded Lyon"; after a "not" they do not.
EXCLUSIONS = _words("excluded excluding rejected dismissed eliminated")
PAST = _words("was were had did")
PRESENT = _words("is are has have does do")
WRONG = _words("wrong incorrect false untrue mistaken error")
FALSELY = _words("falsely wrongly mistakenly incorrectly erroneously")
CONTRAST = _words("but however though although while whereas because since which who whose where so then if when")
SUBORDINATE = _words("which who whose where because since whereas while")
# What "how large" asks for.
MEASURES = {
    "large": "area size", "big": "area size", "long": "length duration", "high": "height elevation", "tall": "height",
    "deep": "depth", "wide": "width", "heavy": "weight mass", "far": "distance", "old": "age", "fast": "speed",
    "people": "population", "inhabitants": "population", "cost": "price", "costs": "price",
}  # fmt: skip
SIZES = MEASURES.keys() & FRAMES - {"people", "inhabitants", "far"}
JOINS = frozenset(("or", "and", ",", "/", "|"))
# What a clause with the reference says when it speaks of something else: the former one, one beside it, a part of it.
RELATIONS = _words(
    """former formerly near outside beyond besides excluding suburb half twice double brother sister father mother
    son daughter wife husband nephew successor predecessor anything anyone whatever any other another instead
    rather except almost nearly ex"""
)
STARTS = frozenset(',;:!?()[]"\n/|=<>')
REFUSALS = re.compile(
    r"\b(?:un(?:known|clear|able|certain)|not (?:able|found|stated|known|given|available|say|tell|find|determine|"
    r"verify|access|answer|know|sure)|(?:do|did|can|could) ?n[o']t\w*|cannot|no (?:idea|answer|information|evidence)|"
    r"n/a|sorry|hard to say)\b",
    re.IGNORECASE,
)
VAGUE = re.compile(
    r"\b(?:one of|some (?!\w+ (?:say|sources))|any|anyone|anything|whatever|whichever|such as|e\.g\.|for example|"
    r"either)\b",
    re.IGNORECASE,
)
OPEN = re.compile(r"\b(?:any|anyone|anything|whatever|whichever|such as|e\.?g|for example)\b", re.IGNORECASE)
# Turns of speech, each with plain words for it, where neither the question nor the reference has them.
_LOOKS = "".join(rf"(?<!{each} )" for each in ("look", "looks", "seem", "seems", "sound", "sounds", "would", "i"))
TURNS = tuple(
    (re.compile(form, re.IGNORECASE), instead)
    for form, instead in (
        (r"\b(?:none|no one|nobody) other than\b", " "),
        (
            r"\b(?:there(?: is|'s) )?(?:no|without(?: an?| any)?|beyond(?: an?| any)?) (?:doubt|question)\b(?! of)",
            " ",
        ),
        (r"\b(?:any(?:one|thing|where)?|every(?:one|thing|where)?|all)(?: \w+)? (?:but|except)\b", " not "),
        (r"\b(?:far|a long way) from(?: being)?\b|¬|(?<![\w!])!(?:=\s?|(?=\w))", " not "),
        (r"\b(?:rather than|instead of|as opposed to)\b", ", not"),
        (r"\bused to be\b", "formerly"),
        (r"\b(?:would|should|could|might) have\b", "nearly"),
        (r"\b(?:is|are|was|were) to (?:be|have)\b", "nearly"),
        (r"\balternatively\b", " or "),
        (r"\bno\. ?(?=\d)", "number "),
        (rf"(?:\A|(?<=\w )){_LOOKS}like\b(?= )", "besides"),
    )
)
PRONOUNS = _words("it they he she we i you there that this yes no the")
# What speaks to whoever judges is no answer.
TO_THE_JUDGE = _words(
    """verdict grader grade graded judge judged evaluator evaluation evaluate reference instructions instruction
    system score scored status correct accepted accept lenient prompt"""
)
MARKERS = re.compile(
    r"(?<![\w-])(?:(?:my|the|so|best|short|your)\s+){0,2}(?:final[ _]?|correct[ _])?"
    r"(?:answer|final|result|output|submission|response)(?:\s*\d)?\s*(?:is\s*)?[:=(]\s*",
    re.IGNORECASE,
)
CORRECTIONS = re.compile(
    r"\b(?:correction|on second thoughts?|scratch that|edit|i mean|i meant|wait|sorry|actually|hmm+|"
    r"after checking(?: again)?|in fact|or rather)\b[\s,:;.-]*(?:it (?:is|was)\b)?"
    r"|(?:\.{2,}|[?;,]|-\s|(?<=\w)\.)\s*(?:wait,?\s*|hmm,?\s*)?no\b\s*(?=[,.:;]|-\s)[\s,.:;-]*",
    re.IGNORECASE,
)
ASKS_WHEN = re.compile(r"\b(?:when|years?|date[sd]?|born|since|decade|century)\b", re.IGNORECASE)
ASKS_WHETHER = re.compile(
    r"(?:is|was|are|were|has|have|had|does|do|did|will|would|can|could|should|may|must)\b", re.IGNORECASE
)
ORDINALS = _words("first second third fourth fifth firstly secondly thirdly next then finally lastly last")
BOUNDS = _words("before after until till by prior past")  # of days
AUXILIARIES = _words("is was are were has have had does do did will would can could should")
COPULAS = _words("is was are were has have had")
# "the country that ...": a question that does not name what it asks about.
DESCRIBES = re.compile(r"\b(?:the|an?) (?:[a-z]+ ){1,4}(?:with|that|which|whose|where|who)\b")
