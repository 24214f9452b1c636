// The desk: one session with its screen, proposals, answer and history, by keyboard or by mouse.

import { $, inField, key } from "./elements.js";
import { colorOf, markChosen, showCandidates } from "./candidates.js";
import { createAnswer } from "./answer.js";
import { createHand } from "./hand.js";
import { listenToPointer } from "./gestures.js";
import { measureEffort } from "./effort.js";
import { followSession } from "./session.js";
import { showHistory } from "./history.js";
import { showMarks, showScreen } from "./screen.js";
import { exampleOf, guidance, QUESTIONS, verdictOf } from "./words.js";

const LIVE = ["click", "type", "hotkey", "press"]; // without any of them a hand can do nothing here
const NO_HAND = "There is nothing to click or to type into here: write the step instead.";

/** leave(words, kind) shows the list again; next() opens the next task; known() hears that a session is there to be seen. */
export function createDesk({ leave, next, known }) {
  const effort = measureEffort();
  let session = null, chosen = 0, offline = null, told = null, dragged = null;
  let held = false; // a person has the session, also while what they do is being done
  let keysThere = false; // where the keys went before a secret: to the session, or to the page

  const state = () => session?.state ?? null;
  const deciding = () => state()?.phase === "deciding" && !session.sending;
  const holding = () => Boolean(state()) && held;
  const captured = () => document.activeElement === $("stage");
  const reachable = () => LIVE.some((name) => state().actions?.includes(name));

  // ---- what is shown

  function changed(now, before) {
    const wasHeld = held;
    held = now.phase === "person" || (held && now.phase === "acting");
    if (!before || before.step !== now.step || now.phase === "ended") {
      chosen = 0;
      told = null;
      answer.clear();
      effort.begin();
    } else if (before.phase !== now.phase || before.candidates.length !== now.candidates.length) {
      chosen = Math.min(chosen, Math.max(0, now.candidates.length - 1));
      if (now.phase === "deciding" && before.phase === "proposing") {
        told = null;
        chosen = 0;
      }
    }
    const text = now.instruction || now.task;
    if ($("instruction").textContent !== text) $("instruction").textContent = text;
    $("steps").textContent = `Step ${Math.min(now.step + (now.phase === "ended" ? 0 : 1), now.budget)} of ${now.budget}`;
    $("budget").firstElementChild.style.width = `${(100 * now.step) / Math.max(1, now.budget)}%`;
    $("minutes").textContent = now.minutes_left === null ? "" : `${Math.ceil(now.minutes_left)} min of your time left`;
    $("card").classList.toggle("no_screen", !now.observation.screen && !now.secret);
    $("card").classList.toggle("no_hand", !reachable());
    $("action").placeholder = now.observation.screen ? "Action: click on the screen, or type here" : "Action: type here; Tab completes";
    $("policy").textContent = `${now.policy.name} · version ${now.policy.version}`;
    showScreen(now);
    showHistory(now.history);
    refresh();
    if (!before) known();
    const keys = now.secret ? !before?.secret : before?.secret && keysThere; // with the dark picture, not after it: no key of a secret is the page's
    if (held && (!wasHeld || keys)) $("stage").focus();
    if (before?.phase !== "ended" && now.phase === "ended") {
      $("ending").close();
      if (!inField(document.activeElement)) $("next").focus();
    }
  }

  function refresh() {
    const now = state();
    if (!now) return;
    const over = now.phase === "ended" || now.phase === "lost";
    $("question").textContent = QUESTIONS[held ? "person" : session.sending ? "acting" : now.phase] ?? "";
    $("candidates").hidden = over;
    $("over").hidden = !over;
    if (over) {
      $("verdict").textContent = verdictOf(now);
      $("look").hidden = now.phase === "lost";
      $("look").href = `#/episodes/${encodeURIComponent(now.episode ?? now.session)}`;
    } else showCandidates(now, chosen, session.sending || held, { accept, edit, choose });
    answer.use(deciding());
    $("desk").dataset.phase = held ? "person" : now.phase;
    const busy = session.sending || ["proposing", "acting"].includes(now.phase);
    $("undo").disabled = busy || over || !now.can_undo;
    $("undo").title = now.can_undo ? "" : now.why_not_undo ?? "";
    $("take").disabled = over || (!held && (!reachable() || now.phase === "acting"));
    $("take").title = reachable() ? "" : NO_HAND;
    $("take").replaceChildren(...(reachable() ? [holding() ? "Give back " : "Take over ", key("t")] : ["Nothing to take over here"]));
    $("hide").hidden = !reachable();
    $("hide").disabled = !holding();
    $("hide").setAttribute("aria-pressed", String(now.secret));
    $("propose").disabled = !deciding();
    $("end").disabled = $("leave").disabled = over;
    marks();
    say();
  }

  function say() {
    const [words, kind] = offline ? [offline, "bad"] : told ?? guidance(state(), session.sending, held, captured());
    if ($("say").textContent !== words) $("say").textContent = words;
    $("say").className = kind;
  }

  function tell(words, kind = "bad") {
    told = words ? [words, kind] : null;
    refresh();
  }

  function marks() {
    const now = state(), drawn = now.phase === "deciding" && !now.secret ? now.candidates : [];
    const groups = drawn.map((candidate, place) => ({ marks: candidate.marks ?? [], kind: `${colorOf(place)} ${place === chosen ? "current" : ""}`, label: String(place + 1) }));
    const written = deciding() ? answer.marks() : [];
    showMarks([...groups, { marks: dragged ? [dragged] : written, kind: "mine current", label: "" }]);
    $("marks").classList.toggle("writing", Boolean(dragged) || written.length > 0);
  }

  // ---- what is done

  function choose(place) {
    if (place === chosen) return;
    chosen = place;
    markChosen(place);
    marks();
  }

  async function decide(said) {
    const deciding = session.decide({ candidate: null, ...said, ...effort.taken() });
    refresh(); // the row shows at once that it was taken
    const refused = await deciding;
    const atAnswer = said.action !== undefined && refused?.status === 400; // what is wrong with a text stands there
    if (refused && !atAnswer) tell(refused.message);
    else refresh();
    return refused;
  }

  function accept(place) {
    const candidate = state()?.candidates[place];
    if (!deciding() || !candidate) return;
    chosen = place;
    if (!candidate.valid) return tell(`Proposal ${place + 1} cannot be done as it is written; e edits it.`);
    decide({ candidate: candidate.index });
  }

  function edit(place) {
    const candidate = state()?.candidates[place];
    if (!deciding() || !candidate) return;
    choose(place);
    answer.edit({ index: candidate.index, number: place + 1, thought: candidate.thought ?? "", action: candidate.action || candidate.text });
  }

  async function act(name, body) {
    try {
      told = null;
      await session.act(name, body);
    } catch (error) {
      tell(error.message);
    }
  }

  const step = () => ({ step: state().step });
  const KEYS = {
    ArrowDown: () => choose(Math.min(chosen + 1, state().candidates.length - 1)),
    ArrowUp: () => choose(Math.max(chosen - 1, 0)),
    Enter: () => {
      if (state().phase === "ended" || state().phase === "lost") next();
      else if (answer.begun) answer.submit(); // what one has written is meant, not the proposal beside it
      else accept(chosen);
    },
    e: () => edit(chosen),
    w: () => { if (deciding()) answer.write(); },
    Escape: () => { if (answer.begun) answer.clear(); },
    u: () => press("undo"), t: () => press("take"), s: () => press("hide"), p: () => press("propose"), n: () => press("end"),
  };
  function press(id) {
    if (!$(id).disabled) return $(id).click();
    if (id === "undo" && state().why_not_undo) tell(state().why_not_undo);
    if (id === "take" && $("take").title) tell(NO_HAND, "");
    if (id === "hide" && !reachable()) tell(NO_HAND, "");
    else if (id === "hide" && state().phase === "deciding") tell("Take over first (t): then a secret can be typed.");
  }

  $("undo").addEventListener("click", () => {
    const going = act("undo", step());
    tell("Going back: the steps before it are played again.", ""); // which may take seconds
    going.then(() => { if (told?.[1] === "") tell(""); });
  });
  $("propose").addEventListener("click", () => act("propose", step()));
  $("take").addEventListener("click", async () => {
    const mine = session, name = holding() ? "give_back" : "take_over";
    await hand.finish();
    if (holding()) await mine.settled(); // after a secret the screen is looked at anew
    if (mine === session) act(name);
  });
  let pressed = null; // whether the session had the keys when the button was pressed: a press takes the focus
  $("hide").addEventListener("pointerdown", () => { pressed = captured(); });
  $("hide").addEventListener("pointerleave", () => { pressed = null; });
  $("hide").addEventListener("click", async () => {
    const begins = !state().secret;
    if (begins) keysThere = pressed ?? captured();
    pressed = null;
    const mine = session;
    await hand.finish(); // what was typed before is before the secret
    await mine.settled();
    if (mine !== session) return;
    await act("secret", { on: begins });
  });
  $("leave").addEventListener("click", async () => {
    await act("release");
    if (!told) leave("The session is kept: whoever begins its task goes on at its step.", "");
  });
  $("next").addEventListener("click", next);
  $("end").addEventListener("click", () => {
    $("note").value = $("ending_wrong").textContent = "";
    $("ending").showModal();
  });
  $("ending").addEventListener("keydown", (event) => {
    const button = event.target !== $("note") && $("ending").querySelectorAll("[data-success]")[Number(event.key) - 1];
    if (button) button.click();
  });
  for (const button of $("ending").querySelectorAll("[data-success]")) {
    button.addEventListener("click", async () => {
      try {
        await session.act("end", { success: JSON.parse(button.dataset.success), note: $("note").value.trim() });
      } catch (error) {
        $("ending_wrong").textContent = error.message;
      }
    });
  }

  const answer = createAnswer({
    send: decide,
    complete: (text, cursor) => session.ask("complete", { ...step(), action: text, cursor }),
    changed: () => { if (state()) marks(); },
    knows: (name) => !state().actions || state().actions.includes(name),
    example: () => exampleOf(state()),
  });

  // ---- the hand on the screen: an answer while one decides, the session itself while one has it

  async function live(input) {
    const mine = session, { seconds, keystrokes } = effort.taken();
    effort.begin();
    await mine.settled();
    if (mine === session) await mine.act("input", { ...input, seconds_taken: seconds, keystrokes });
  }
  const hand = createHand(live, (error) => tell(error.message), (text) => { if (!state().secret) tell(`Typed: ${text}`, "asks"); },
    () => !state().actions || state().actions.includes("left_double"));
  const pointable = () => (holding() && state().secret) || (Boolean(state()?.observation.screen) && (deciding() || holding()));
  listenToPointer($("picture"), pointable, (gesture) => {
    dragged = gesture.type === "move" && gesture.button === "left" ? { ...gesture, kind: "drag" } : null;
    if (holding()) {
      $("stage").focus();
      hand.gesture(gesture);
    } else if (gesture.type !== "move" && !answer.gesture(gesture)) tell("This gesture does not fit the action that is being written.", "");
    marks();
  });
  $("stage").addEventListener("keydown", (event) => {
    if (!holding() || event.key === "Tab" && event.shiftKey && event.ctrlKey) return;
    event.stopPropagation();
    if (event.key === "Escape" && event.shiftKey) {
      event.preventDefault();
      hand.finish();
      told = null;
      return $("take").focus();
    }
    if (hand.key(event)) event.preventDefault();
  });
  $("stage").addEventListener("paste", (event) => { if (holding()) hand.paste(event.clipboardData.getData("text/plain")); });

  for (const name of ["focus", "blur"]) $("stage").addEventListener(name, () => { if (holding()) say(); });

  document.addEventListener("keydown", (event) => {
    if ($("desk").hidden || !state() || document.querySelector("dialog[open]") || event.defaultPrevented) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || inField(event.target)) return;
    if (event.key === "Enter" && event.target.closest?.("button, a")) return; // it has a meaning of its own there
    const does = /^[1-9]$/.test(event.key) ? () => accept(Number(event.key) - 1) : KEYS[event.key];
    if (!does) return;
    event.preventDefault();
    if (!event.repeat || event.key.startsWith("Arrow")) does();
  });

  return {
    get id() { return session ? state()?.session : null; },
    open(id) {
      this.close();
      offline = told = null;
      held = keysThere = false;
      session = followSession(id, {
        changed,
        connection(words) {
          offline = words;
          if (state()) say();
        },
        moved(next) { location.hash = `#/session/${encodeURIComponent(next)}`; },
        gone: (words) => leave(words, "bad"),
      });
    },
    /** What was spent on reading the card is not the step's. */
    begin: () => effort.begin(),
    close() {
      session?.close();
      session = null;
      delete $("desk").dataset.phase;
      $("policy").textContent = "";
    },
  };
}
