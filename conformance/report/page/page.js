// SPDX-License-Identifier: GPL-2.0-or-later
// The filter of the findings, and that of the results of probes with their details; everything can be read without them.
// And: all is open when the page is printed.
"use strict";
(() => {
  const form = document.getElementById("filter");
  const cards = [...document.querySelectorAll("article.finding")];
  if (form && cards.length > 0) {
    const status = document.getElementById("shown");
    const texts = cards.map((card) => card.textContent.toLowerCase());
    const apply = () => {
      const severities = new Set([...form.querySelectorAll("input[name=severity]:checked")].map((box) => box.value));
      const rule = form.elements.rule.value;
      const connection = form.elements.connection.value;
      const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      cards.forEach((card, i) => {
        const fits = severities.has(card.dataset.severity) && (!rule || card.dataset.rule === rule) &&
            (!connection || card.dataset.connection === connection) && words.every((word) => texts[i].includes(word));
        card.hidden = !fits;
        if (fits) shown += 1;
      });
      status.textContent = `Showing ${shown} of ${cards.length}.`;
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(apply));
    // A link to a finding that the filter hides shows all again.
    const follow = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      const card = target && target.closest("article.finding");
      if (card && card.hidden) {
        form.reset();
        setTimeout(() => target.scrollIntoView());
      }
    };
    addEventListener("hashchange", follow);
    // Links beside rules: the findings of that rule alone.
    document.querySelectorAll("a[data-filter-rule]").forEach((link) => {
      link.addEventListener("click", () => {
        form.reset();
        form.elements.rule.value = link.dataset.filterRule;
        setTimeout(apply);
      });
    });
    apply();
    follow();
  }

  // Results of probes: a button in each row opens the details behind it, and a filter hides rows.
  const rows = [...document.querySelectorAll("table.probes tr.probe")];
  const open = (row, wanted) => {
    row.querySelector("button").setAttribute("aria-expanded", wanted);
    row.nextElementSibling.hidden = !wanted;
  };
  const choice = document.getElementById("probe-filter");
  if (choice && rows.length > 0) {
    const texts = rows.map((row) => (row.textContent + row.nextElementSibling.textContent).toLowerCase());
    const status = document.getElementById("shown");
    const apply = () => {
      const words = choice.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const verdict = choice.elements.verdict.value;
      let shown = 0;
      rows.forEach((row, i) => {
        const fits = words.every((word) => texts[i].includes(word)) &&
            (!verdict || row.dataset.verdicts.split(" ").includes(verdict));
        row.hidden = !fits;
        if (!fits) open(row, false);
        if (fits) shown += 1;
      });
      status.textContent = `Showing ${shown} of ${rows.length}.`;
    };
    rows.forEach((row) => {
      const button = row.querySelector("button");
      button.addEventListener("click", () => open(row, button.getAttribute("aria-expanded") !== "true"));
      open(row, false);
    });
    choice.hidden = false;
    choice.addEventListener("input", apply);
    choice.addEventListener("submit", (event) => event.preventDefault());
    choice.addEventListener("reset", () => setTimeout(apply));
    apply();
    // A link to a probe opens it.
    const follow = () => {
      const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!row || !rows.includes(row)) return;
      if (row.hidden) choice.reset();
      open(row, true);
    };
    addEventListener("hashchange", follow);
    follow();
  }

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((details) => { details.open = false; }));
})();
