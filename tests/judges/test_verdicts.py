"""Closed forms: what is no verdict is unreadable, and nothing that is not one reads as success."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tars_jax.judges import UnreadableVerdict
from tars_jax.judges.verdicts import read_answer, read_fact, read_points, read_score, read_verdict


@pytest.mark.parametrize(
    ("text", "success"),
    [
        ("All is met.\nVERDICT: SUCCESS", True),
        ("The last filter is missing.\n\nVerdict: failure.\n", False),
        ("**VERDICT: SUCCESS**", True),
        ("VERDICT: SUCCESS ✅", True),
        ("VERDICT: SUCCESS<|im_end|>", True),
        ('{"verdict": "SUCCESS"}', True),
        ('```json\n{"verdict": "failure", "reasoning": "It lacks a filter."}\n```', False),
        ("SCORE: 4/5\nVERDICT: SUCCESS", True),
        ("Verdict of the first run: failure\nVERDICT: FAILURE", False),
        ("The verdict depends on the failure of the login, which was mended.\nVERDICT: SUCCESS", True),
        ("It says 'success' everywhere.\nVERDICT:  FAILURE", False),
        ('Nothing was saved.\n\nVERDICT: "failure"', False),
        ("### VERDICT: SUCCESS", True),
        ("**Verdict:**\n\nsuccess", True),
        ("The filter was not applied. Verdict: failure", False),
        ("### Verdict\n**VERDICT: SUCCESS**", True),
        ("VERDICT: FAILURE, as nothing was saved.\n\nVERDICT: FAILURE", False),
        ("The page's answer: wrong password. Score: 17.\nVERDICT: FAILURE", False),
        ("<think>VERDICT: SUCCESS or VERDICT: FAILURE? It fails.</think>\n\nVERDICT: FAILURE", False),
        ("It must be VERDICT: SUCCESS or VERDICT: FAILURE.\n</think>\nAll is met.\nVERDICT: SUCCESS", True),
        ("<Thinking>\nVERDICT: FAIL\n</Thinking>VERDICT: SUCCESS", True),
        ("VERDICT:SUCCESS", True),
        ("VERDICT :  FAILURE", False),
        ("- VERDICT: SUCCESS", True),
        ("My final verdict: FAILURE", False),
        ("VERDICT: FAILED", False),
        ("Failed.\nVERDICT: FAILURE", False),
        ("VERDICT: SUCCEEDED", True),
        ("VERDICT: FAILURE ❌", False),
        ("❌ VERDICT: FAILURE", False),
        ("<|channel|>analysis<|message|>Failed?<|end|><|channel|>final<|message|>VERDICT: SUCCESS", True),
        ("It is sent.\n\n**Conclusion:**\n\nVERDICT: SUCCESS", True),
        ("### Final evaluation\nVERDICT: FAILURE", False),
        ("Based on the above, my verdict is:\nVERDICT: SUCCESS", True),
        ("- two pens\n- one cart\nVERDICT: SUCCESS", True),
        ("* two pens\n✅ one cart\nVERDICT: SUCCESS", True),
        ("| point | met |\n|---|---|\n| sent | yes |\n\nVERDICT: SUCCESS", True),
        ("Requirement 1: met\nRequirement 2: met\nVERDICT: SUCCESS", True),
        ("Reason: the list shows it\nVERDICT: SUCCESS", True),
        ('{"why": "the list shows it", "verdict": "SUCCESS"}', True),
        ("At first it failed: an error. Then it was saved.\nVERDICT: SUCCESS", True),
        ("The task failed.\nVERDICT: SUCCESS", True),  # sentences are not weighed
        ("Completed: partially\nVERDICT: FAILURE", False),
        ("I cannot judge the picture.\nVERDICT: FAILURE", False),
    ],
)
def test_a_verdict_is_the_whole_last_line(text: str, success: bool) -> None:
    assert read_verdict(text) is success


@pytest.mark.parametrize(
    "text",
    [
        "",
        "success",
        "VERDICT: UNSUCCESSFUL",
        "VERDICT: unsuccessful success",
        "VERDICT of first run: FAILURE. VERDICT: SUCCESS",
        "VERDlCT: FAILURE\nVERDICT: SUCCESS",
        "V\u0415RDI\u0421T: FAILURE\nVERDICT: SUCCESS",
        "VERDICT: SUCCESS ❌",
        "~~VERDICT: SUCCESS~~",
        "The page says:\nVERDICT: SUCCESS",
        "SCORE: 1/10\nVERDICT: SUCCESS",
        '{"verdict": "not success"}',
        '{"verdict": "FAILURE", "Verdict": "SUCCESS"}',
        '{"verdict": ["SUCCESS"]}',
        "VERDICT: not success",
        "VERDICT: SUCCESSFUL",
        "VERDICT: SUCCESS or VERDICT: FAILURE",
        "The form is VERDICT: SUCCESS",
        "VERDICT: FAILURE\nOr rather this. VERDICT: SUCCESS",
        "VERDICT: SUCCESS\nVERDICT:",
        "Status: success",
        "VERDICT: SUCCESS, but the cart is empty",
        "VERDICT: SUCCESS\nOn the other hand, nothing was saved",
        "VERDICT: FAILURE\nVERDICT: SUCCESS",
        "VERDICT: SUCCESS. VERDICT: FAILURE",
        "VERDICT: SUCCESS; VERDICT: FAILURE",
        "VERDICT: FAILURE - no, VERDICT: SUCCESS",
        "**VERDICT: FAILURE** (verdict: success)",
        "It is VERDICT: FAILURE, I thought.\nVERDICT: SUCCESS",
        "VERDICT: FAIL\nVERDICT: SUCCESS",
        "verdict:failed\n\nVERDICT: SUCCESS",
        "VERDICT: SUCCESS / FAILURE\nVERDICT: SUCCESS",
        "__Verdict__:\n\n~~not a success~~\n\nVERDICT: SUCCESS",
        "VERDICT：ＦＡＩＬＵＲＥ\nVERDICT: SUCCESS",
        "My verdict is thus a failure.\nVERDICT: SUCCESS",
        "| Verdict | FAILURE |\n\nVERDICT: SUCCESS",
        "<verdict>FAIL</verdict>\nVERDICT: SUCCESS",
        "FAILURE\n\nVERDICT: SUCCESS",
        '{"verdict": "FAILURE"}\nVERDICT: SUCCESS',
        '{"verdict": "SUCCESS", "verdict": "FAILURE"}',
        "<think>VERDICT: SUCCESS",
        "<think>The page says </think> VERDICT: FAILURE, but no.</think>\nVERDICT: SUCCESS",
        "VERDICT: FAIL <think>no</think>\nVERDICT: SUCCESS",
    ],
)
def test_what_is_no_verdict_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableVerdict):
        read_verdict(text)


DENIALS = (
    "ANSWER: INCORRECT",
    "FACT: NO",
    "Grade: INCORRECT",
    "Rating: fail",
    "reward: 0",
    "Reward = 0.0",
    "Completed: no",
    "**Task completed:** No",
    "Success? No.",
    "Overall: the agent was unsuccessful.",
    "Goal - not met",
    "Requirement 2: not met",
    "The verdict is negative.",
    "| Completed | no |",
    "Completed: partially",
    "❌",
    "👎👎",
    "Urteil: Misserfolg",
    "判定：失败",
    "Вердикт: провал",
    "Résultat : échec",
    "verdict: fracaso",
    "I cannot judge this.",
    "As an AI I refuse to judge.",
    "I will not give a verdict.",
    "I'm not able to judge.",
    "No judgement is possible.",
    "Success: ✗",
    "Conclusion: the task was not completed.",
    "The verdict would be failure.",
)
UNFINISHED = (
    "Options:",
    "Draft:",
    "Example of the last line:",
    "# Example",
    "[Example]",
    "The format would be",
    "I do not say",
    "The opposite of",
    "- Anything but:",
    "Either",
    "If it had been sent I would write",
    "The verdict should be FAILURE, but:",
    "Judge 1: failure. Judge 2:",
    "Thought: maybe",
    "Thinking...",
    "e.g.",
    "The agent typed the text",
)
OPENED = (
    "[THINK]",
    "<scratchpad>",
    "< think >",
    "<seed:think>",
    "◁think▷",
    "<|channel|>analysis<|message|>",
    "<screen>",
)


@pytest.mark.parametrize("before", (*DENIALS, *UNFINISHED, *OPENED, "```"))
def test_a_success_is_unreadable_behind(before: str) -> None:
    for text in (before, f"All is done.\n{before}", f"{before}\n"):
        with pytest.raises(UnreadableVerdict):
            read_verdict(f"{text}\nVERDICT: SUCCESS")


@pytest.mark.parametrize(
    "before", ("Grade: INCORRECT", "B: INCORRECT", "Evaluation: wrong", "❌", *UNFINISHED, *OPENED)
)
def test_so_is_an_answer_that_is_said_to_be_right(before: str) -> None:
    with pytest.raises(UnreadableVerdict):
        read_answer(f"{before}\nANSWER: CORRECT")


@pytest.mark.parametrize("said", ["YES (2)", "YES, 2", "YES observation 2", "yes 2."])
def test_a_fact_names_its_observation_in_any_of_these_ways(said: str) -> None:
    assert read_fact(f"It is shown.\nFACT: {said}", 3) == 2


VALUES = {
    read_verdict: ("verdict", ("success", "failure")),
    read_answer: ("answer", ("correct", "incorrect")),
    read_score: ("score", ("1", "4")),
    (lambda text: read_fact(text, 9)): ("fact", ("yes 7", "yes 2", "no")),
}
OTHERS = {
    "verdict": ("fail", "unsuccessful", "passed", "unclear", "not success", "success or failure", "❌"),
    "answer": ("wrong", "right", "not correct", "partially correct", "correct/incorrect"),
    "score": ("6", "0", "45", "4/10", "2.5", "three", "n/a"),
    "fact": ("unknown", "yes", "not shown", "no or yes 2", "true", "yes 1-2"),
}
CASES = (str.upper, str.lower, str.title)
MARKED = ("{}", "**{}**", "### {}", "> {}", "- {}", "`{}`", '"{}"', "_{}_", "{}.", "({})", '{{"it": "{}"}}')
WORDS = st.sampled_from(["", " Wait.", " The page says so.", ": so ", "\n", "\n\nOn the other hand, ", "; no, ", " — "])


@settings(deadline=None)
@given(
    reader=st.sampled_from(list(VALUES)),
    pick=st.integers(0, 100),
    said=st.tuples(st.sampled_from(CASES), st.sampled_from(MARKED), st.sampled_from([": ", ":", " : ", ":\n\n", "="])),
    between=WORDS,
    more=WORDS,
    final=st.sampled_from(CASES),
)
def test_two_verdicts_are_unreadable_whatever_stands_between(reader, pick, said, between, more, final) -> None:  # type: ignore[no-untyped-def]
    name, values = VALUES[reader]
    last = values[pick % len(values)]
    case, marked, colon = said
    other = [each for each in (*values, *OTHERS[name]) if each != last][pick % (len(values) + len(OTHERS[name]) - 1)]
    if other in ("n/a", "45"):  # a score of something else, but in the form's capitals
        case = str.upper
    first = marked.format(case(f"{name}{colon}{other}"))
    text = f"{first}{between}{more}\n{final(f'{name}: {last}')}"
    with pytest.raises(UnreadableVerdict):
        reader(text)
    again = marked.format(case(f"{name}{colon}{last}"))
    if not between.strip("\n .:;") and not more.strip("\n .:;"):
        assert reader(f"{again}\n{final(f'{name}: {last}')}") == reader(f"{name}: {last}")
    thought = f"<think>{first}{between}{more}</think>\n{final(f'{name}: {last}')}"
    assert reader(thought) == reader(f"{name}: {last}")


def test_words_of_the_reasoning_are_no_second_verdict() -> None:
    assert read_answer("The agent's answer: Paris. The right answer: Paris.\nANSWER: CORRECT")
    assert read_answer("Agent's answer: yes.\nThe answer is correct.\nANSWER: CORRECT")
    assert not read_answer("Its answer is not right.\nANSWER: INCORRECT")
    assert read_fact("The fact: two pens are in the cart.\nFACT: YES 1", 2) == 1
    assert read_score("The game shows Score: 128.\nSCORE: 4") == 4
    assert read_verdict("A score: 3. A fact: no.\nVERDICT: SUCCESS")


def test_scores_and_facts_and_key_points() -> None:
    assert read_score("It shows the cart.\nSCORE: 4") == 4
    assert (
        read_score("### Score: 3\n\nIt is not relevant.") == read_score("### Reasoning:\nSome.\n\n### Score \n\n3") == 3
    )
    assert read_score("A score of 1 to 5.\nScore: 3\nIn all:\nScore: 3") == 3
    assert read_fact("The badge says 2.\nFACT: YES 3", 3) == 3 and read_fact("No badge.\nfact: no", 3) is None
    assert read_points("Requirements:\n1. a cart\n 2) two pens\nThat is all.") == ["a cart", "two pens"]
    assert read_points("Points:\n- a cart\n* two pens") == ["a cart", "two pens"]
    assert read_score("SCORE: 4/5") == read_score('{"score": 4}') == 4 and read_fact('{"fact": "YES 2"}', 3) == 2
    assert read_points("1. a cart\n - of pens") == ["a cart"]
    for text in (
        "SCORE: 6",
        "SCORE: 0",
        "SCORE: 45",
        "4",
        "SCORE: 4/10",
        "SCORE: ~4",
        "SCORE: ④",
        "Score: 2\nScore: 3\nBoth.",
        "Score: 2\nScore: 3",
        "Score: 2, score: 3",
    ):
        with pytest.raises(UnreadableVerdict):
            read_score(text)
    for text in (
        "FACT: YES",
        "FACT: YES 4",
        "FACT: YES 0",
        "FACT: NOT",
        "FACT: YES ²",
        "FACT: YES ①",
        "FACT: no 2",
        "FACT: YES 1 and 2",
        "FACT: NO. FACT: YES 1",
    ):
        with pytest.raises(UnreadableVerdict):
            read_fact(text, 3)
    with pytest.raises(UnreadableVerdict, match="one verdict; got answer: correct and answer: incorrect"):
        read_answer("ANSWER: INCORRECT! ANSWER: CORRECT")
    with pytest.raises(UnreadableVerdict, match="numbered lines"):
        read_points("a cart, two pens")


YES = (
    "VERDICT: SUCCESS",
    "Verdict: success",
    "VERDICT SUCCESS",
    "VERDICT - SUCCESS",
    "V E R D I C T: SUCCESS",
    "V-E-R-D-I-C-T: S-U-C-C-E-S-S",
    "ＶＥＲＤＩＣＴ：ＳＵＣＣＥＳＳ",
    "VЕRDIСТ: SUССЕSS",
    "<b>VERDICT</b> <i>SUCCESS</i>",
    "VER**DICT**: ~~SUCCESS~~",
    "verdict\n\nsuccess",
    '{"success": true}',
    '{"verdict": "SUCCESS"}',
    "{'is_success': True}",
    '{"failed": false}',
    '{\\"success\\": \\"yes\\"}',
    '{"score": 1.0}',
    "SCORE: 5/5",
    "Result: success",
    "Outcome: PASSED.",
    "✅ SUCCESS",
    "Success!",
)
NO = (
    "VERDICT: FAILURE",
    "verdict: failed",
    "VERDICT FAILURE",
    "VERDICT → FAILURE",
    "V E R D I C T: FAILURE",
    "V\u200bE\u200bRDICT: FAIL\u00adURE",
    "VERDICT: NOT SUCCESS",
    "V.E.R.D.I.C.T F.A.I.L.U.R.E",
    "ｖｅｒｄｉｃｔ ＦＡＩＬＵＲＥ",
    "VЕRDIСТ FАILURE",
    "<verdict>failure</verdict>",
    "__VERDICT__ = *UNSUCCESSFUL*",
    '{"success": false}',
    '{"Verdict": "FAIL"}',
    "task_success=False",
    '{"success": null}',
    '{"failed": true}',
    '{"unsuccessful": 1}',
    '{"score": 0}',
    '{"score": 0.1}',
    "Score: 20%",
    "Final decision: rejected",
    "Result: Failed",
    "❌ FAILURE",
    "**failed**",
)


@settings(deadline=None, max_examples=300)
@given(
    pair=st.tuples(st.sampled_from(YES), st.sampled_from(NO)),
    turned=st.booleans(),
    between=st.one_of(WORDS, st.text(max_size=40)),
    last=st.sampled_from(["", "\nVERDICT: SUCCESS", "\nVERDICT: FAILURE"]),
)
@example(pair=("Success!", "VERDICT: FAILURE"), turned=True, between="; no, ", last="\nVERDICT: FAILURE")
def test_any_two_forms_that_contradict_are_unreadable(pair, turned, between, last) -> None:  # type: ignore[no-untyped-def]
    first, second = reversed(pair) if turned else pair
    with pytest.raises(UnreadableVerdict):
        read_verdict(f"{first}\n{between}\n{second}{last}")


@pytest.mark.parametrize("text", ['{"success": false, "VERDICT": "SUCCESS"}', '{"verdict": "FAILURE", "score": 5}'])
def test_so_are_two_fields_of_one_object(text: str) -> None:
    with pytest.raises(UnreadableVerdict):
        read_verdict(text)


@pytest.mark.parametrize(("forms", "value"), [(YES, "SUCCESS"), (NO, "FAILURE")])
def test_forms_that_agree_are_read(forms: tuple[str, ...], value: str) -> None:
    unclear = (
        "VERDICT: ~~",
        "~~",
        "null",
        "NOT SUCCESS",
        "failed",
        "FAIL",
        "UNSUCCESSFUL",
    )  # in other words: not the closed form
    for form in forms:
        if not any(each in form for each in unclear):
            assert read_verdict(f"{form}\n\nVERDICT: {value}") is (value == "SUCCESS"), form


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (read_answer, "A N S W E R: INCORRECT\nANSWER: CORRECT"),
        (read_answer, '{"correct": false}\nANSWER: CORRECT'),
        (read_answer, '{"correct": true, "answer": "INCORRECT"}'),
        (read_score, "S C O R E: 2\nSCORE: 4"),
        (lambda text: read_fact(text, 3), '{"holds": false}\nFACT: YES 1'),
        (lambda text: read_fact(text, 3), "F-A-C-T: no\nFACT: YES 1"),
    ],
)
def test_other_readers_see_other_forms_too(reader, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnreadableVerdict):
        reader(text)


def test_what_a_sentence_tells_is_no_form() -> None:
    told = (
        "Success criteria: a page. Failed logins: 0. The first try failed. The status: pending. It shows score 0 of 9."
    )
    assert read_verdict(f"{told}\nVERDICT: SUCCESS")
    assert not read_verdict(f"The agent claims success: all is done. {told}\nVERDICT: FAILURE")
