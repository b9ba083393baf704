"use strict";
(() => {
  const form = document.getElementById("filters");
  const table = document.getElementById("variants-table");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const count = document.getElementById("count");
  const heads = Array.from(table.querySelectorAll("thead th"));
  const words = form.elements.namedItem("q");
  const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
  const axes = Array.from(new Set(boxes.map((box) => box.name)));
  let sorted = { column: -1, down: false };

  const chosen = (axis) =>
    boxes.filter((box) => box.name === axis && box.checked).map((box) => box.value);

  const filter = () => {
    const wanted = axes.map((axis) => [axis, chosen(axis)]).filter(([, values]) => values.length);
    const terms = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const axesOf = JSON.parse(row.dataset.axes);
      const text = row.dataset.text;
      row.hidden = !(
        wanted.every(([axis, values]) => values.includes(axesOf[axis])) &&
        terms.every((term) => text.includes(term))
      );
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length} kernels`;
    document.getElementById("none").hidden = shown > 0;
    document.getElementById("variants-scroll").hidden = shown === 0;
  };

  const valueOf = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();

  const sort = () => {
    const { column, down } = sorted;
    heads.forEach((head, index) => {
      head.setAttribute("aria-sort", index !== column ? "none" : down ? "descending" : "ascending");
    });
    const numeric = column >= 0 && heads[column].classList.contains("num");
    const order = rows.map((row, index) => [row, index]);
    if (column >= 0) {
      order.sort(([a, i], [b, j]) => {
        const x = valueOf(a, column);
        const y = valueOf(b, column);
        // What was not measured or not modelled stays last either way.
        if (x === "" || y === "") return x === y ? i - j : x === "" ? 1 : -1;
        const way = numeric ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
        return (down ? -way : way) || i - j;
      });
    }
    body.append(...order.map(([row]) => row));
  };

  const write = () => {
    const state = new URLSearchParams();
    for (const axis of axes) {
      const values = chosen(axis);
      if (values.length) state.set(axis, values.join(" "));
    }
    if (words.value.trim()) state.set("q", words.value.trim());
    if (sorted.column >= 0) {
      state.set("sort", `${sorted.down ? "-" : ""}${heads[sorted.column].dataset.key}`);
    }
    const text = state.toString();
    if (text) history.replaceState(null, "", `#${text}`);
    else if (location.hash.includes("=")) history.replaceState(null, "", "#variants");
  };

  const read = () => {
    if (!location.hash.includes("=")) return false;
    const state = new URLSearchParams(location.hash.slice(1));
    for (const box of boxes) {
      box.checked = (state.get(box.name) ?? "").split(" ").includes(box.value);
    }
    words.value = state.get("q") ?? "";
    const key = state.get("sort") ?? "";
    const column = heads.findIndex((head) => head.dataset.key === key.replace(/^-/, ""));
    sorted = { column, down: key.startsWith("-") };
    return true;
  };

  form.addEventListener("input", () => { filter(); write(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => {
    sorted = { column: -1, down: false };
    sort(); filter(); write();
  }));
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      sorted = { column, down: sorted.column === column && !sorted.down };
      sort(); write();
    });
  });
  addEventListener("hashchange", () => { if (read()) { sort(); filter(); } });

  // One CPU at a time; without scripts all of them stand there.
  const picker = document.getElementById("cpus");
  const parts = Array.from(document.querySelectorAll("[data-cpu]"));
  const pick = () => {
    const cpu = new FormData(picker).get("cpu");
    for (const part of parts) part.hidden = part.dataset.cpu !== cpu;
    clip();
  };

  // A table wider than its frame says so, since a phone shows no scroll bar.
  const frames = Array.from(document.querySelectorAll(".scroll"));
  const clip = () => {
    for (const frame of frames) {
      frame.toggleAttribute("data-clipped", frame.scrollWidth > frame.clientWidth + 1);
    }
  };

  if (picker) {
    picker.addEventListener("input", pick);
    picker.hidden = parts.length < 2;
    pick();
  }
  addEventListener("resize", clip);
  document.addEventListener("toggle", clip, true);
  document.getElementById("fold").open = !matchMedia("(max-width: 45rem)").matches;
  clip();

  form.hidden = false;
  document.getElementById("unscripted").hidden = true;
  if (read()) document.getElementById("variants").scrollIntoView();
  sort(); filter();
})();
