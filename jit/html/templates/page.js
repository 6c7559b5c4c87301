"use strict";
(() => {
  const root = document.documentElement;
  const remembered = (value) => {
    try { // a browser may forbid it to files
      if (value) localStorage.setItem("fullgraph-theme", value);
      return localStorage.getItem("fullgraph-theme");
    } catch { return null; }
  };
  const theme = (value) => { if (value) root.dataset.theme = value; };
  theme(remembered());

  addEventListener("DOMContentLoaded", () => {
    const filter = document.getElementById("filter");
    const matches = document.getElementById("matches");
    const help = document.getElementById("help");
    let findings = null;
    let current = null;

    const toggle = () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      theme(dark ? "light" : "dark");
      remembered(root.dataset.theme);
    };

    const all = () => findings ??= Array.from(document.querySelectorAll(".finding"), (element) => ({
      element,
      hunk: element.closest(".hunk"),
      file: element.closest(".file"),
      text: `${element.textContent} ${element.closest(".file").dataset.path}`.toLowerCase(),
    }));

    const narrow = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      const shown = new Set();
      let count = 0;
      for (const item of all()) {
        const fits = words.every((word) => item.text.includes(word));
        item.element.hidden = !fits;
        if (fits) { count += 1; shown.add(item.hunk).add(item.file); }
      }
      for (const part of document.querySelectorAll(".hunk, .file")) part.hidden = words.length > 0 && !shown.has(part);
      for (const link of document.querySelectorAll("nav li a")) {
        link.parentElement.hidden = document.getElementById(link.hash.slice(1)).hidden;
      }
      matches.textContent = words.length ? `${count} of ${all().length}` : "";
    };

    const show = (text) => {
      filter.value = text;
      narrow();
    };

    const step = (by) => {
      const open = all().filter((item) => !item.element.hidden);
      if (!open.length) return;
      const at = open.findIndex((item) => item.element === current);
      const next = at < 0 ? (by > 0 ? 0 : open.length - 1) : Math.min(Math.max(at + by, 0), open.length - 1);
      location.replace(`#${open[next].element.id}`);
      arrive();
    };

    const arrive = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target) return;
      if (target.closest("[hidden]")) show("");
      for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
      target.scrollIntoView({ block: target.matches(".note, .l") ? "center" : "start" });
      if (target.matches(".note")) target.focus({ preventScroll: true });
      if (target.matches(".finding")) current = target;
    };

    const keys = {
      j: () => step(1),
      k: () => step(-1),
      t: toggle,
      "/": () => filter.focus(),
      "?": () => help.showModal(),
    };
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      if (event.target === filter) {
        if (event.key === "Escape") { show(""); filter.blur(); }
        if (event.key === "Enter") { filter.blur(); step(1); }
        return;
      }
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    let waiting = 0;
    filter.addEventListener("input", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(narrow); });
    document.getElementById("theme").addEventListener("click", toggle);
    document.getElementById("keys").addEventListener("click", () => help.showModal());
    for (const button of document.querySelectorAll("[data-filter]")) {
      button.addEventListener("click", () => {
        const again = filter.value === button.dataset.filter;
        show(again ? "" : button.dataset.filter);
        if (!again) document.querySelector(".file:not([hidden])")?.scrollIntoView();
      });
    }
    addEventListener("hashchange", arrive);
    if (location.hash) arrive();
  });
})();
