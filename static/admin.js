"use strict";
// The pickers of groups and permissions, which Django makes once the page is loaded, name their icons on elements that
// may not be named: as pictures they may.
addEventListener("load", () => setTimeout(() => {
  for (const one of document.querySelectorAll(".help-tooltip[aria-label]:not([role])")) one.setAttribute("role", "img");
}));
