// The page reads without this script; it adds what needs one: choosing a finding and a language, copying, and reading
// bars of the timeline. It takes nothing from the network and puts no text of the run into the page as HTML.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("scripted");
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Language: the one that was asked for, else that of the browser, until another is chosen.
  const languages = document.getElementById("languages");
  const speak = (language) => {
    root.dataset.lang = language;
    root.lang = language === "zh" ? "zh-Hans" : "en";
    for (const button of all("button", languages)) {
      button.setAttribute("aria-pressed", String(button.dataset.language === language));
    }
    for (const input of all("input[data-en]")) {
      input.placeholder = input.dataset[language];
      input.setAttribute("aria-label", input.dataset[language]);
    }
  };
  languages.hidden = false;
  languages.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) speak(button.dataset.language);
  });
  speak(root.dataset.lang || ((navigator.language || "en").toLowerCase().startsWith("zh") ? "zh" : "en"));

  // One finding of several. All of them are in the page; print shows all.
  const links = all("[data-select]");
  const select = (number) => {
    for (const part of all("[data-findings]")) {
      part.hidden = !part.dataset.findings.split(" ").includes(String(number));
    }
    for (const link of links) link.setAttribute("aria-current", String(link.dataset.select === String(number)));
    for (const id of ["operands", "cause"]) {
      const old = document.getElementById(id);
      const now = document.querySelector(`[data-findings="${number}"] > .part[data-part="${id}"]`);
      if (old && now) {
        old.removeAttribute("id");
        now.id = id;
      }
    }
  };
  if (links.length > 0) {
    const chosen = () => {
      const found = /^#finding-(\d+)$/.exec(location.hash);
      return found && Number(found[1]) <= links.length ? Number(found[1]) - 1 : null;
    };
    select(chosen() ?? 0);
    window.addEventListener("hashchange", () => {
      const number = chosen();
      if (number !== null) select(number);
    });
  }

  // Copy the text of a fix.
  const put = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  for (const button of all("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await put(button.dataset.copy);
      const [idle, done] = [button.querySelector(".idle"), button.querySelector(".done")];
      idle.hidden = true;
      done.hidden = false;
      setTimeout(() => {
        idle.hidden = false;
        done.hidden = true;
      }, 1500);
    });
  }

  // Where one is: the part whose head has passed the upper third of the window last.
  const ways = all(".bar nav a");
  const show_way = () => {
    const line = window.innerHeight / 3;
    const bottom = window.innerHeight + window.scrollY >= root.scrollHeight - 2;
    const parts = ways.map((way) => document.querySelector(way.hash)).filter((part) => part);
    const passed = parts.filter((part) => bottom || part.getBoundingClientRect().top <= line);
    for (const way of ways) {
      if (passed.length > 0 && way.hash === `#${passed[passed.length - 1].id}`) way.setAttribute("aria-current", "true");
      else way.removeAttribute("aria-current");
    }
  };
  window.addEventListener("scroll", show_way, { passive: true });
  window.addEventListener("resize", show_way);
  show_way();

  // The module tree: search, expand all, collapse all. What was open comes back when the search is emptied.
  for (const tools of all(".tree-tools")) {
    const tree = tools.nextElementSibling;
    const folders = all("details", tree);
    const before = new Map(folders.map((folder) => [folder, folder.open]));
    tools.hidden = false;
    for (const button of all("button", tools)) {
      button.addEventListener("click", () => {
        for (const folder of folders) before.set(folder, (folder.open = button.dataset.open !== ""));
      });
    }
    tools.querySelector("input").addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      for (const item of all("li", tree)) {
        const name = item.querySelector(".name").textContent.toLowerCase();
        item.classList.toggle("found", wanted !== "" && name.includes(wanted));
      }
      for (const folder of folders) {
        folder.open = wanted === "" ? before.get(folder) : folder.querySelector(".found") !== null;
      }
      tree.querySelector(".found")?.scrollIntoView({ block: "nearest" });
    });
  }

  // The timeline: what a bar stands for, by pointer or by arrow keys.
  for (const lanes of all(".lanes")) {
    const readout = lanes.nextElementSibling;
    const show = (bar) => {
      for (const other of all("rect.shown", lanes)) other.classList.remove("shown");
      bar.classList.add("shown");
      const lane = bar.closest("svg").getAttribute("aria-label").split(":").slice(0, -1).join(":");
      readout.textContent = `${lane}  ${bar.querySelector("title").textContent}`.trim();
    };
    lanes.addEventListener("pointerover", (event) => {
      const bar = event.target.closest("rect");
      if (bar) show(bar);
    });
    lanes.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const plot = event.target.closest("svg");
      if (!step || !plot) return;
      event.preventDefault();
      const bars = all("rect", plot);
      const at = bars.findIndex((bar) => bar.classList.contains("shown"));
      const next = at < 0 ? (step > 0 ? 0 : bars.length - 1) : Math.min(bars.length - 1, Math.max(0, at + step));
      if (bars[next]) show(bars[next]);
    });
  }
})();
