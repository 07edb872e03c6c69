"use strict";
// A page beats only while somebody works on it: a case that was taken and left is free again when its time is over.
const AT_WORK_MS = 10 * 60 * 1000;
let lastTouchAt = Date.now();

for (const kind of ["pointerdown", "pointermove", "keydown", "scroll", "focusin"]) {
  addEventListener(kind, () => { lastTouchAt = Date.now(); }, { passive: true, capture: true });
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt.id !== "beat") return;
  const isAtWork = document.visibilityState === "visible" && Date.now() - lastTouchAt < AT_WORK_MS;
  if (!isAtWork) event.preventDefault();
});

document.addEventListener("visibilitychange", () => {
  const beat = document.getElementById("beat");
  if (beat && document.visibilityState === "visible") htmx.trigger(beat, "back");
});
