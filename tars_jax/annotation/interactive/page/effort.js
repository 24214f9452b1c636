// What a step costs a person: active seconds (not while the page is hidden or nobody moves) and keystrokes.

export const IDLE_MS = 30_000; // longer without a sign of a person, and they are taken to be away from then on
const SIGNS = ["keydown", "pointerdown", "pointermove", "wheel", "focusin"];
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock"]);

/** begin() starts a step's count; taken() tells it: {seconds, keystrokes}. `now` in milliseconds. */
export function measureEffort(page = document, now = () => performance.now()) {
  let active = 0, keystrokes = 0, since = now();

  function pass() {
    const at = now();
    if (since !== null) active += Math.min(at - since, IDLE_MS);
    since = page.hidden ? null : at;
  }
  for (const name of SIGNS) page.addEventListener(name, pass, { capture: true, passive: true });
  page.addEventListener("visibilitychange", pass);
  page.addEventListener("keydown", (event) => { if (!MODIFIERS.has(event.key)) keystrokes += 1; }, { capture: true });

  return {
    begin() {
      active = keystrokes = 0;
      since = page.hidden ? null : now();
    },
    taken() {
      pass();
      return { seconds: Math.round(active) / 1000, keystrokes };
    },
  };
}
