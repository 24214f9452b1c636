// What a pointer does on the screen, as gestures with places in fractions of it.

const FAR = 6; // pixels of the page: less is a click of an unsteady hand
const BUTTONS = { 0: "left", 2: "right" };

/** heard({type: "click" | "double_click" | "drag" | "scroll" | "move", x, y, x2, y2, button, dx, dy}) while wanted(). */
export function listenToPointer(screen, wanted, heard) {
  let down = null;

  const place = (event) => {
    const box = screen.getBoundingClientRect();
    const part = (at, from, length) => Math.min(1, Math.max(0, (at - from) / length));
    return { x: part(event.clientX, box.left, box.width), y: part(event.clientY, box.top, box.height) };
  };

  screen.addEventListener("pointerdown", (event) => {
    if (!wanted() || !(event.button in BUTTONS)) return;
    event.preventDefault(); // no text is marked, no picture dragged away
    screen.setPointerCapture(event.pointerId);
    down = { ...place(event), clientX: event.clientX, clientY: event.clientY, button: BUTTONS[event.button] };
  });
  screen.addEventListener("pointermove", (event) => {
    if (!down || !wanted() || Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < FAR) return;
    const { x, y } = place(event);
    heard({ type: "move", x: down.x, y: down.y, x2: x, y2: y, button: down.button });
  });
  screen.addEventListener("pointerup", (event) => {
    if (!down || !wanted()) return;
    const { x, y, button, clientX, clientY } = down;
    down = null;
    const end = place(event);
    const dragged = button === "left" && Math.hypot(event.clientX - clientX, event.clientY - clientY) >= FAR;
    heard(dragged ? { type: "drag", x, y, x2: end.x, y2: end.y, button } : { type: "click", x, y, button });
  });
  screen.addEventListener("pointercancel", () => { down = null; });
  screen.addEventListener("dblclick", (event) => {
    if (wanted()) heard({ type: "double_click", ...place(event), button: "left" });
  });
  screen.addEventListener("contextmenu", (event) => { if (wanted()) event.preventDefault(); });
  screen.addEventListener("wheel", (event) => {
    if (!wanted()) return;
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 40 : 1;
    heard({ type: "scroll", ...place(event), dx: event.deltaX * unit, dy: event.deltaY * unit });
  }, { passive: false });
}

export function directionOf(dx, dy) {
  if (Math.abs(dx) > Math.abs(dy)) return dx > 0 ? "right" : "left";
  return dy > 0 ? "down" : "up";
}
