"use strict";
// Single keys that lead to what they name. None decides: they move the focus, and Enter or a click there decides.
const KEPT = "notifyops.keys";
const isOff = () => localStorage.getItem(KEPT) === "off";
const focus = (selector) => {
  const found = document.querySelector(selector);
  if (!found) return false;
  found.focus();
  found.scrollIntoView({ block: "nearest" });
  return true;
};
const rows = () => [...document.querySelectorAll("table.cases tbody a.id")];
const current = () => document.activeElement.closest("table.cases tbody tr");
const move = (step) => {
  const links = rows();
  const at = links.findIndex((link) => link.closest("tr") === current());
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
  if (next) next.focus();
  return links.length > 0;
};
const pick = () => {
  const box = current()?.querySelector("input[name=id]");
  if (box) box.click();
  return Boolean(box);
};
const follow = (selector) => {
  const link = document.querySelector(selector);
  if (link) link.click();
  return Boolean(link);
};
// A plan is only shown: the row's where one is chosen, else the first one's.
const plan = () => {
  const link = (current() ?? document).querySelector("a.plan");
  if (link) link.click();
  return Boolean(link);
};
const KEYS = {
  "/": () => focus("input[name=q]"),
  j: () => move(1),
  k: () => move(-1),
  x: pick,
  a: () => focus("#take button"),
  p: () => focus("#query button"),
  r: () => focus("#retry select") || focus("#retry button") || plan(),
  c: () => focus("#close select") || focus("#close button"),
  e: () => focus("#correct input:not([type=hidden])"),
  w: () => focus("#withdraw select"),
  n: () => focus("#next button"),
  b: () => follow("a#previous"),
  u: () => focus("#undo button"),
  ".": () => follow("#show-news:not([hidden])"),
  "?": () => { showKeys(); return true; },
};
// The off switch, beside the list of keys; without script there is nothing to switch.
const readySwitch = (place) => {
  const button = place.querySelector("#keys-switch");
  if (!button) return;
  const say = () => { button.textContent = isOff() ? button.dataset.on : button.dataset.off; };
  button.addEventListener("click", () => { localStorage.setItem(KEPT, isOff() ? "on" : "off"); say(); });
  button.hidden = false;
  say();
};
// The help page's list over the page that one is at, so that nothing typed there is lost; the browser closes it with
// Escape and gives the focus back. Where it cannot be had, one goes to the help page itself.
let isFetching = false;
const showKeys = async () => {
  const help = document.body.dataset.help;
  if (isFetching || document.getElementById("shortcuts")) {
    if (!isFetching) location.assign(help);
    return;
  }
  isFetching = true;
  try {
    const answer = await fetch(help, { headers: { Accept: "text/html" } });
    const list = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("shortcuts");
    if (!answer.ok || !list) { location.assign(help); return; }
    const dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-labelledby", "h-shortcuts");
    dialog.append(document.adoptNode(list));
    list.querySelector("form[method=dialog]").hidden = false;
    const head = list.querySelector("h2"); // where the list begins; a button has the focus only when somebody goes there
    head.tabIndex = -1;
    head.autofocus = true;
    readySwitch(dialog);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  } catch {
    location.assign(help);
  } finally {
    isFetching = false;
  }
};

document.addEventListener("keydown", (event) => {
  if (isOff() || event.altKey || event.isComposing) return;
  const at = event.target, list = document.getElementById("keys");
  if (list) {
    // What lies under it does not listen.
    if (event.key === "?") list.close();
    return;
  }
  if (event.ctrlKey || event.metaKey) {
    // In a text Enter is a new line; this is the form's own button, with all that it asks for.
    if (event.key !== "Enter" || !at.matches("#case form.verb textarea, #case form.verb input")) return;
    event.preventDefault();
    at.form.requestSubmit(at.form.querySelector("button"));
    return;
  }
  if (at.matches("#case select[name=reason_code]") && /^[1-9]$/.test(event.key)) {
    // A reason by its place; the first option is none.
    if (!at.options[Number(event.key)]) return;
    at.selectedIndex = Number(event.key);
    at.dispatchEvent(new Event("change", { bubbles: true }));
    const text = at.form.querySelector("textarea[required]");
    (text ?? at.form.querySelector("button")).focus();
    event.preventDefault();
    return;
  }
  if (at.matches("input:not([type=checkbox]), select, textarea, [contenteditable]")) {
    if (event.key === "Escape") {
      at.blur();
      event.preventDefault(); // a search field would empty itself
    }
    return;
  }
  const go = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (go && go()) event.preventDefault();
});

addEventListener("DOMContentLoaded", () => readySwitch(document));
