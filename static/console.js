"use strict";
// Nothing here is needed: without JavaScript every page and decision works by plain links and forms.

// An answer that is not put into the page must still be seen; what was typed stays where it is.
function tell(text) {
  const place = document.getElementById("trouble");
  if (!place) return;
  place.textContent = text;
  place.hidden = false;
}

document.addEventListener("htmx:responseError", (event) => {
  const answer = event.detail.xhr;
  const words = document.body.dataset;
  const isSentence = (answer.getResponseHeader("Content-Type") || "").startsWith("text/plain");
  if (answer.status === 401) return; // the browser is on its way to the login
  tell(isSentence ? answer.responseText : answer.status === 403 ? words.forbidden : words.failed);
});
document.addEventListener("htmx:sendError", () => tell(document.body.dataset.failed));
document.addEventListener("htmx:afterSwap", () => {
  const place = document.getElementById("trouble");
  if (place) place.hidden = true;
  if (decisionWasKept) show("kept");
  decisionWasKept = false;
  offerCopies();
  countDown();
});

// News that comes by itself must not touch what somebody reads closely, selects or types: it is announced instead.
const END_OF_POLLING = 286;
let decisionWasKept = false;
let pageWasKept = false;

function isInUse(place) {
  const chosen = getSelection();
  const isSelected = chosen.rangeCount > 0 && !chosen.isCollapsed && chosen.getRangeAt(0).intersectsNode(place);
  const fields = [...place.querySelectorAll("textarea, select, input:not([type=hidden])")];
  const isFilled = fields.some((field) => (field.type === "checkbox" ? field.checked : field.value !== ""));
  // A banner has the focus since it was just read out, not since anybody works there.
  const isFocused = place.contains(document.activeElement) && !document.activeElement.matches(".banner");
  return isSelected || isFilled || isFocused;
}

function show(id) {
  const place = document.getElementById(id);
  if (place) place.hidden = false;
}

document.addEventListener("htmx:beforeSwap", (event) => {
  pageWasKept = false;
  // A run's page asks on until nobody uses what it would change.
  if (event.detail.requestConfig?.elt?.id === "progress" && isInUse(event.detail.target)) {
    event.detail.shouldSwap = false;
    if (event.detail.target.id === "bulk") show("held");
    return;
  }
  if (event.detail.xhr.status !== END_OF_POLLING || !isInUse(event.detail.target)) return;
  pageWasKept = true;
  event.detail.swapOverride = "none";
  if (event.detail.serverResponse.includes("id=\"case\"")) show("moved");
  else if (event.detail.serverResponse.includes("id=\"decision\"")) show("came"); // else it only says that it waits no more
});
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  // The header says as of when the page is: it does not go on without it.
  if (event.detail.target.id === "standing" && pageWasKept) event.detail.shouldSwap = false;
  if (event.detail.target.id !== "decision" || !isInUse(event.detail.target)) return;
  event.detail.shouldSwap = false;
  decisionWasKept = true;
});

// What waits only some seconds for an undo says so, and is not offered longer than that.
function countDown() {
  for (const form of document.querySelectorAll("form[data-left-ms]:not([data-counts])")) {
    form.dataset.counts = "yes";
    const ends = performance.now() + Number(form.dataset.leftMs);
    const place = form.querySelector("[data-count]");
    const tick = () => {
      if (!form.isConnected) return;
      const left = Math.ceil((ends - performance.now()) / 1000);
      place.textContent = left > 0 ? place.dataset.count.replace("{}", left) : place.dataset.over;
      if (left > 0) setTimeout(tick, 250);
      else form.querySelector("button").disabled = true;
    };
    tick();
  }
}

function offerCopies() {
  if (!navigator.clipboard) return;
  for (const id of document.querySelectorAll("[data-copy]:not([data-copy=done])")) {
    const words = document.body.dataset;
    const text = id.textContent.trim();
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = words.wordCopy;
    button.setAttribute("aria-label", `${words.wordCopy}: ${text}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = words.wordCopied;
      setTimeout(() => { button.textContent = words.wordCopy; }, 2000);
    });
    id.dataset.copy = "done";
    id.after(button);
  }
}

// A text is required where the chosen reason asks for one; the server says so as well.
function askForTexts() {
  for (const select of document.querySelectorAll("select[name=reason_code]")) {
    const text = select.form.elements.reason;
    if (text) text.required = "always" in text.dataset || "text" in (select.selectedOptions[0]?.dataset ?? {});
  }
}
document.addEventListener("change", askForTexts);

// A search's address says what was chosen, and nothing of the fields that were left empty.
document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id !== "filters") return;
  const chosen = event.detail.parameters;
  for (const name of Object.keys(chosen)) if (chosen[name] === "") delete chosen[name];
});
document.addEventListener("formdata", (event) => {
  if (event.target.id !== "filters") return;
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
document.addEventListener("DOMContentLoaded", () => { offerCopies(); askForTexts(); countDown(); });
document.addEventListener("htmx:afterSettle", askForTexts);

// The server writes times in the device's zone, which only a script can tell it; from the next page on.
const device = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (device && !document.cookie.split("; ").includes(`device_zone=${device}`)) {
  document.cookie = `device_zone=${device}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
}
