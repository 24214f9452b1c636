// What the desk says: one sentence about where the session stands, and what one may do.

export const QUESTIONS = {
  proposing: "The policy is thinking",
  deciding: "What should happen next?",
  acting: "It is being done",
  person: "You have the session",
  ended: "The episode has ended",
  lost: "The session is lost",
};

// How an environment ends an episode, where nobody wrote a note.
const OUTCOMES = { finished: "", truncated: "The steps or the time are used up.", rejected: "The answer could not be read." };

const PREPARING = /\bcompiled\b/; // no error: it takes its time

/** [words, kind]: kind is "" or "asks" or "bad". `captured`: what is typed goes to the session that a person has. */
export function guidance(state, sending, held, captured) {
  if (!state) return ["", ""];
  if (state.message && !sending) return [sentence(state.message), state.phase === "lost" ? "bad" : "asks"];
  if (held && !captured) {
    return [state.secret
      ? "The keys are this page's: s ends the secret, a click on the dark picture brings them to the session."
      : "The keys are this page's: t gives the session back, s begins a secret, a click on the screen brings them to the session.", ""];
  }
  if (held) {
    return [state.secret
      ? "What you type goes to the session and is kept nowhere. Shift+Esc, then s: the secret is over."
      : "Clicks, keys and the wheel go to the session. Shift+Esc brings the keys back here; then t gives it back.", "asks"];
  }
  if (sending || state.phase === "acting") return ["The step is being done on the session.", ""];
  switch (state.phase) {
    case "proposing":
      return ["The policy reads the screen and writes its proposals.", ""];
    case "deciding":
      if (PREPARING.test(state.policy.away ?? "")) {
        return [`The policy is not ready yet (${state.policy.away.split(";")[0]}). You can already write the next step yourself: press w.`, ""];
      }
      if (state.policy.away) return [`The policy is away (${state.policy.away}): write the next step yourself, or ask again.`, "bad"];
      if (state.reason) return [`You are asked: ${sentence(state.reason)}`, "asks"];
      if (!state.candidates.length) return ["The policy proposes nothing: write the next step yourself, or ask again.", "asks"];
      return [state.observation.screen
        ? "Press a proposal's number or click it, and it is done. Or click on the screen: that fills the action, and Enter does it."
        : "Press a proposal's number or click it, and it is done. Or press w and write what you would do.", ""];
    default:
      return ["", ""];
  }
}

export function verdictOf({ phase, ended, message }) {
  if (phase === "lost") return sentence(message ?? "The session ended under your hand. The steps that were done are kept.");
  const how = { true: "The task is done.", false: "The task failed.", null: "Nobody can say whether the task was done." }[String(ended?.success ?? null)];
  const why = OUTCOMES[ended?.reason] ?? ended?.reason, reason = why ? ` ${sentence(why)}` : "";
  return `${how}${reason} Your steps are stored.`;
}

export function sentence(words) {
  const text = String(words).trim();
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) || !begun ? begun : `${begun}.`;
}

const LAST = new Set(["finished", "wait", "call_user"]); // what an episode has besides what it is about

/** A call of this episode as one is written: one that the policy proposes or that was done, else by a function's names. */
export function exampleOf({ candidates, history, functions }) {
  const call = candidates.find((each) => each.valid && each.action)?.action ?? history.findLast((each) => each.action && !each.hidden)?.action;
  if (call) return call.split(/\n\s*\n/)[0];
  const { signature } = functions.find((each) => !LAST.has(each.name)) ?? functions[0] ?? { signature: "finished(content)" };
  return signature.replace(/\((.*)\)$/, (_, names) => `(${names.split(", ").filter((name) => name && !name.endsWith("?")).map(filled).join(", ")})`);
}

const filled = (name) => (name.endsWith("point") ? `${name}='<point>500 500</point>'` : `${name}='…'`);
