"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const panel = document.getElementById("inspector");
  const text = document.getElementById("text");
  const tokens = [...text.querySelectorAll("span[id]")];
  const said = new Map(tokens.map((el) => [el.id, el.title]));
  let kept = null;

  const make = (tag, name, ...children) => {
    const el = document.createElement(tag);
    if (name) el.className = name;
    el.append(...children.filter((child) => child !== null));
    return el;
  };
  const place = (id) => id.slice(1).split(".").map(Number);
  const share = (written) => (written.startsWith(">") ? 1 : Number(written));
  const percent = (part) => `${Math.min(100, 100 * part)}%`;

  const testBar = ([chance, u]) => {
    const below = make("i"), at = make("b");
    below.style.width = percent(chance);
    at.style.left = percent(u);
    return make("div", "test", below, at);
  };

  const roundTable = (id) => {
    const [round, row] = place(id);
    const head = make("tr", "", ...["", "token", "q", "p", "p/q", "overlap", "u"].map((name) =>
      make("th", name === "token" ? "name" : "", name)));
    const rows = [];
    for (let i = 0; i <= data.rounds[round].k; i++) {
      const token = data.tokens[`r${round}.${i}`];
      if (!token) continue;
      const fact = (name) => make("td", "", token.facts[data.facts.indexOf(name)] || "–");
      rows.push(make("tr", i === row ? "on" : "", make("td", token.kind, token.mark),
        make("td", "name", make("bdi", token.kind, data.names[token.name])),
        ...["q", "p", "p/q", "overlap", "u"].map(fact)));
    }
    return make("table", "", head, ...rows);
  };

  const facts = (token) => {
    const cells = data.facts.map((name, i) => [name, token.facts[i], token.raw[i]]).filter(([, value]) => value);
    return make("div", token.raw.length ? "grid raw" : "grid", ...cells.map(([name, value, raw]) =>
      make("div", "", make("span", "", name), raw ? `${value} (${raw})` : value)));
  };

  const lists = (token, last) => {
    const top = Math.max(...token.lists.flatMap((list) => list.slice(1).filter((_, i) => i % 2).map(share)), 1e-9);
    return make("div", "lists", ...token.lists.map(([name, ...flat]) => {
      const rows = [];
      for (let i = 0; i < flat.length; i += 2) {
        const bar = make("i");
        bar.style.width = percent(share(flat[i + 1]) / top);
        const own = flat[i] === token.name ? token.kind : last && flat[i] === last.name ? last.kind : "";
        rows.push(make("li", "", bar, make("bdi", own, data.names[flat[i]]), make("span", "", flat[i + 1])));
      }
      return make("section", "", make("h4", "", name), make("ol", "", ...rows));
    }));
  };

  const show = (id) => {
    const token = data.tokens[id], [number] = place(id), round = data.rounds[number];
    const link = make("a", "", round.title);
    link.href = `#${id}`;
    const name = make("h3", "", make("span", "", `${token.mark} `), make("bdi", token.kind, data.names[token.name]),
      `  ${token.kind}`);
    const live = make("p", "said", said.get(id));
    live.setAttribute("aria-live", "polite");
    panel.replaceChildren(...[make("h2", "", link), name, make("p", "quiet", `id ${token.id} · ${token.bytes}`), live,
      token.test ? testBar(token.test) : null, roundTable(id), facts(token),
      token.raw.length ? make("p", "quiet", "in brackets: at temperature 1, without cuts") : null,
      lists(token, token.kind === "rejected" ? data.tokens[`r${number}.${round.k}`] : null),
      make("p", "quiet", round.timing)].filter((part) => part !== null));
    for (const el of tokens) {
      el.classList.toggle("on", el.id === id);
      el.classList.toggle("in", place(el.id)[0] === number);
    }
  };

  const shown = () => tokens.filter((el) => el.offsetParent !== null);
  const token = (event) => event.target.closest("#text span[id]");
  const open = () => {
    const el = document.getElementById(location.hash.slice(1));
    if (!el || !said.has(el.id)) return;
    if (el.classList.contains("ghost")) document.getElementById("ghosts").checked = true;
    el.focus();
  };

  for (const el of tokens) {
    el.removeAttribute("title");
    el.tabIndex = -1;
  }
  if (tokens.length) tokens.find((el) => !el.classList.contains("ghost")).tabIndex = 0;
  text.addEventListener("mouseover", (event) => token(event) && show(token(event).id));
  text.addEventListener("mouseleave", () => kept && show(kept));
  text.addEventListener("click", (event) => token(event) && token(event).focus());
  text.addEventListener("focusin", (event) => {
    for (const el of text.querySelectorAll("[tabindex='0']")) el.tabIndex = -1;
    event.target.tabIndex = 0;
    kept = event.target.id;
    show(kept);
  });
  text.addEventListener("keydown", (event) => {
    const all = shown(), at = all.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, to))].focus();
  });
  addEventListener("hashchange", open);
  open();
})();
