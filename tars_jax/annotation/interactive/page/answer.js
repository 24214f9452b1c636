// The answer that a person writes: from a proposal, from nothing, or by the pointer on the screen.

import { $ } from "./elements.js";
import { completeIn } from "./completion.js";
import { marksOf, placeGesture } from "./placing.js";

const CALL = /\S\s*[(（]/; // whether it is a good one is the service's to say
const WIRE = /\bAction:|<\/?seed:/; // words of the policy's grammar, which nobody writes here

/**
 * on: send({candidate, thought, action}) gives null or the Refused that says what is wrong; complete(text, cursor);
 * changed() hears that another place is to be drawn; knows(name): whether the episode has a function; example(): a call
 * of this episode.
 */
export function createAnswer(on) {
  const thought = $("thought"), action = $("action");
  let edited = null; // {index, number, thought, action}: the proposal that is being edited
  let caret = 0, usable = false; // the fields stay open: whoever types while the policy thinks types on

  const completion = completeIn(action, $("completions"), on.complete, changed);

  function changed() {
    caret = action.selectionStart;
    wrong("");
    refresh();
    on.changed();
  }

  function refresh() {
    const empty = !thought.value.trim() && !action.value.trim();
    $("answer_title").textContent = edited ? `Your edit of proposal ${edited.number}` : "Or write it yourself";
    $("send").disabled = !usable || !action.value.trim();
    $("cancel").hidden = empty && !edited;
  }

  function wrong(words) {
    $("wrong").textContent = words;
    action.setAttribute("aria-invalid", String(Boolean(words)));
  }

  const hint = () => `The action is a call, such as ${on.example()}`;

  function clear() {
    edited = null;
    thought.value = action.value = "";
    completion.close();
    changed();
  }

  async function send() {
    if (!CALL.test(action.value)) {
      if (!usable) return;
      action.focus();
      wrong(hint());
      return action.value.trim() ? undefined : completion.open();
    }
    if ($("send").disabled) return;
    completion.close();
    const same = edited && edited.thought === thought.value && edited.action === action.value;
    const said = { candidate: edited?.index ?? null, ...(same ? {} : { thought: thought.value.trim(), action: action.value.trim() }) };
    const refused = await on.send(said);
    if (refused?.status === 400 && !same) {
      wrong(WIRE.test(refused.message) ? hint() : refused.message);
      action.focus();
    } else if (!refused) document.activeElement?.blur(); // keys are the page's again
  }

  for (const field of [thought, action]) {
    field.addEventListener("input", changed);
    field.addEventListener("keydown", (event) => {
      event.stopPropagation(); // keys of a field are the field's
      if (event.isComposing || (field === action && completion.key(event))) event.preventDefault();
      else if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        send();
      } else if (event.key === "Escape") {
        clear();
        field.blur();
      }
    });
  }
  action.addEventListener("keyup", () => { caret = action.selectionStart; });
  action.addEventListener("click", () => { caret = action.selectionStart; });
  $("answer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  $("cancel").addEventListener("click", () => {
    clear();
    $("cancel").blur();
  });

  return {
    clear,
    submit: send,
    get begun() { return Boolean(thought.value.trim() || action.value.trim()); },
    /** What is drawn of it on the screen. */
    marks: () => marksOf(action.value),
    use(on) {
      usable = on;
      refresh();
    },
    edit(candidate) {
      edited = candidate;
      thought.value = candidate.thought;
      action.value = candidate.action;
      thought.focus();
      action.setSelectionRange(0, 0);
      changed();
      caret = 0;
    },
    write() {
      if (edited) clear();
      action.focus();
    },
    /** Whether the gesture had a meaning in the answer. */
    gesture(gesture) {
      const placed = placeGesture(action.value, caret, gesture, on.knows);
      if (!placed) return false;
      action.value = placed.text;
      action.focus({ preventScroll: true });
      action.setSelectionRange(placed.caret, placed.caret);
      completion.close();
      changed();
      return true;
    },
  };
}
