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
  offerCopies();
});

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
document.addEventListener("DOMContentLoaded", offerCopies);
