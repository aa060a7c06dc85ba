/** Knows whether the page is dark, and tells when that changes. */

/** Keep `data-theme` of a card in line with the page; the answer stops it. */
export function followTheme(card: HTMLElement, window: Window): () => void {
  const page = window.document;
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const update = () => {
    card.dataset["theme"] = isDark(page, query.matches) ? "dark" : "light";
  };
  const watch = new MutationObserver(update);
  const options = {
    attributes: true,
    attributeFilter: [
      "data-jp-theme-light",
      "class",
      "data-vscode-theme-kind",
      "theme",
    ],
  };
  watch.observe(page.body, options);
  watch.observe(page.documentElement, options);
  query.addEventListener("change", update);
  update();
  return () => {
    watch.disconnect();
    query.removeEventListener("change", update);
  };
}

/** What the page says: JupyterLab, VS Code, Colab, else the system. */
export function isDark(page: Document, system: boolean): boolean {
  const lab = page.body.dataset["jpThemeLight"];
  if (lab !== undefined) return lab === "false";
  const classes = page.body.classList;
  if (classes.contains("vscode-dark") || classes.contains("vscode-high-contrast")) {
    return !classes.contains("vscode-high-contrast-light");
  }
  if (classes.contains("vscode-light")) return false;
  const colab = page.documentElement.getAttribute("theme");
  if (colab !== null) return colab === "dark";
  return system;
}
