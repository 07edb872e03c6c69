"use strict";
// What is new is told in one line, and shown only by whoever asks for it: nothing that is read, selected or typed moves.
// The stream carries hints; what is new for this very page the server counts, when it is asked.
const ASK_EVERY_MS = 20_000; // without a stream
const ASK_GAP_MS = 2500; // many hints are one question
const LISTEN_AGAIN_MS = 120_000; // after a stream that could not be had
const FAILURES = 3;
const CLOSED = 2;

const line = () => document.getElementById("live");
let stream = null;
let failures = 0;
let isOver = false;
let everyTimer = 0;
let againTimer = 0;
let soonTimer = 0;
let askedAt = -ASK_EVERY_MS;
let left = []; // what became of rows that the list still shows

function say(text, { offer = false, isTrouble = false } = {}) {
  const live = line();
  if (!live) return;
  const news = document.getElementById("news");
  if (news.textContent !== text) news.textContent = text; // said again, it would be read out again
  document.getElementById("show-news").hidden = !offer;
  live.classList.toggle("told", text !== "");
  live.classList.toggle("lost", isTrouble);
}

async function ask() {
  clearTimeout(soonTimer);
  soonTimer = 0;
  const live = line();
  if (!live || isOver || document.hidden) return;
  askedAt = performance.now();
  const url = live.dataset.ask;
  let answer = null;
  let found = null;
  try {
    // The headers of a page that asks by itself: it is no use of the session, and leads to no login.
    const headers = { "HX-Request": "true", "HX-Current-URL": location.href, Accept: "application/json" };
    answer = await fetch(url, { headers, cache: "no-store", signal: AbortSignal.timeout(10_000) });
    if (answer.status === 200) found = await answer.json();
  } catch {
    found = null;
  }
  if (line()?.dataset.ask !== url) return; // the page was shown anew meanwhile
  if (found) {
    left = found.left ?? [];
    say(found.text, { offer: found.text !== "" });
    if (!stream) listen(); // the answer says that the login stands
  } else if (answer && [286, 401, 403].includes(answer.status)) {
    end();
  } else {
    say(live.dataset.lost, { isTrouble: true, offer: true });
  }
}

function askSoon() {
  if (soonTimer || document.hidden) return;
  // At once where nobody asked for a while: a lone change should show within moments.
  const gap = Math.max(300, ASK_GAP_MS - (performance.now() - askedAt));
  soonTimer = setTimeout(ask, gap);
}

function end() {
  isOver = true;
  hush();
  say(line().dataset.over, { isTrouble: true, offer: true });
}

function concerns(moved) {
  const live = line();
  if (!live || live.dataset.of !== "case" || moved.more) return true;
  const [id, seq] = live.dataset.shown.split(".").map(Number);
  return moved.cases.some(([moves, version]) => moves === id && version > seq);
}

function hush() {
  stream?.close();
  stream = null;
  clearInterval(everyTimer);
  clearTimeout(againTimer);
  everyTimer = againTimer = 0;
}

function askByTheClock() {
  if (!everyTimer) everyTimer = setInterval(ask, ASK_EVERY_MS);
}

function listen() {
  const live = line();
  if (!live || isOver || document.hidden || stream || againTimer) return;
  if (live.dataset.heard === "no" || !window.EventSource) {
    askByTheClock();
    return;
  }
  const opened = stream = new EventSource(`${live.dataset.stream}?after=${encodeURIComponent(live.dataset.mark)}`);
  opened.addEventListener("open", () => {
    failures = 0;
    clearInterval(everyTimer);
    everyTimer = 0;
  });
  opened.addEventListener("moved", (event) => { if (concerns(JSON.parse(event.data))) askSoon(); });
  opened.addEventListener("missed", askSoon);
  opened.addEventListener("site", (event) => { if (JSON.parse(event.data) !== line()?.dataset.stands) askSoon(); });
  opened.addEventListener("database", (event) => {
    if (event.data === "false") say(line()?.dataset.away ?? "", { isTrouble: true });
    else if (line()?.classList.contains("lost")) askSoon();
  });
  opened.addEventListener("end", (event) => {
    if (event.data !== '"over"') return; // the server begins anew, and the browser comes back by itself
    hush();
    ask(); // another login may stand in this browser by now
  });
  opened.addEventListener("error", () => {
    askByTheClock();
    failures += 1;
    if (opened.readyState !== CLOSED && failures < FAILURES) return;
    opened.close();
    if (stream === opened) stream = null;
    askSoon(); // why there is no stream (a login that is over, a server that is full) the answer tells at once
    againTimer = setTimeout(() => { againTimer = 0; failures = 0; listen(); }, LISTEN_AGAIN_MS);
  });
}

// A hidden page asks for nothing, and leaves its place to others.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hush();
  else if (line()) {
    failures = 0;
    askSoon();
    listen();
  }
});
addEventListener("pagehide", hush);
addEventListener("pageshow", (event) => { if (event.persisted) { askSoon(); listen(); } });
document.addEventListener("DOMContentLoaded", listen);

// Showing keeps what somebody had: the focus, the rows that were ticked, what was typed.
let kept = null;
const fields = (place) => [...place.querySelectorAll("textarea, select, input:not([type=hidden], [type=checkbox], [type=radio])")];
const named = (field) => `${field.form?.id ?? ""} ${field.name}`;

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.requestConfig?.elt?.id !== "show-news" || !event.detail.shouldSwap) return;
  const place = event.detail.target;
  const links = [...place.querySelectorAll("table.cases tbody tr")];
  const at = links.indexOf(document.activeElement.closest("table.cases tbody tr"));
  kept = {
    row: at,
    rowId: links[at]?.id ?? "",
    wasInside: place.contains(document.activeElement),
    hadId: document.activeElement.id,
    ticked: new Set([...place.querySelectorAll("input[name=id]:checked")].map((box) => box.value)),
    typed: new Map(fields(place).filter((field) => field.value !== "").map((field) => [named(field), field.value])),
  };
});

document.addEventListener("htmx:afterSwap", () => {
  const live = line();
  if (live && kept) {
    tellGone();
    restore(kept);
  }
  kept = null;
  if (!live) return;
  const [head, now] = [document.querySelector("header .standing time"), live.querySelector("time")];
  if (head && now) {
    head.textContent = now.textContent;
    head.dateTime = now.dateTime;
  }
  if (live.dataset.heard === "no" && stream) hush();
  listen();
});

// Who asked for what is new learns who took the rows that are not there any more.
function tellGone() {
  const place = document.getElementById("gone");
  for (const one of place ? left : []) {
    const link = document.createElement("a");
    link.href = one.url;
    link.textContent = one.text;
    const line = document.createElement("p");
    line.append(link);
    place.append(line);
  }
  left = [];
}

function restore(before) {
  for (const box of document.querySelectorAll("input[name=id]")) if (before.ticked.has(box.value)) box.checked = true;
  for (const field of fields(document.getElementById("main"))) {
    const typed = before.typed.get(named(field));
    if (typed === undefined || field.value !== "" || field.closest("#filters")) continue;
    field.value = typed;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
  if (!before.wasInside) return;
  const rows = [...document.querySelectorAll("table.cases tbody tr")];
  const row = (before.rowId && document.getElementById(before.rowId)) || (before.row >= 0 && rows[Math.min(before.row, rows.length - 1)]);
  const place = (row && row.querySelector("a.id")) || (before.hadId !== "show-news" && before.hadId && document.getElementById(before.hadId)) || line();
  place.focus({ preventScroll: Boolean(row) });
}
