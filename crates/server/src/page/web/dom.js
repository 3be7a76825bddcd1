// Small helpers for building the page.

/** An element with attributes, listeners (`onclick`) and children; `null` and `false` are left out. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** `1,234,567` */
export const count = (number) => Number(number).toLocaleString("en-US");

export const plural = (number, one, several = `${one}s`) => `${count(number)} ${Number(number) === 1 ? one : several}`;

/** `1.5 MB` */
export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let size = Number(number);
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit === 0 || size >= 99.5 ? Math.round(size) : size.toPrecision(size >= 9.95 ? 3 : 2)} ${units[unit]}`;
}

/** `1.2M`, for places with little room. */
export function short(number) {
  const size = Math.abs(number);
  if (size < 10_000) return count(Math.round(number * 10) / 10);
  const [divisor, unit] = size < 1e6 ? [1e3, "k"] : size < 1e9 ? [1e6, "M"] : [1e9, "G"];
  return `${Number((number / divisor).toPrecision(3))}${unit}`;
}

/** `340 ms`, `2.41 s`, `3 min 05 s` */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** Puts a text on the clipboard; works without a secure context, too. */
export async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = element("textarea", { class: "off-screen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Shows on a button, for a moment, that something was done. */
export function confirmOn(button, text) {
  if (button.dataset.label !== undefined) return;
  button.dataset.label = button.textContent;
  button.textContent = text;
  setTimeout(() => {
    button.textContent = button.dataset.label;
    delete button.dataset.label;
  }, 1200);
}

/** Makes buttons with role=tab work: click, arrow keys, which panel is shown. */
export function tabs(buttons, onChange) {
  const select = (chosen) => {
    for (const button of buttons) {
      const isChosen = button === chosen;
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
      byId(button.getAttribute("aria-controls")).hidden = !isChosen;
    }
    onChange(chosen.id);
  };
  buttons.forEach((button, position) => {
    button.addEventListener("click", () => select(button));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = buttons[(position + step + buttons.length) % buttons.length];
      select(next);
      next.focus();
    });
  });
  return (id) => select(byId(id));
}
