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

  const named = (number) => data.names[number];

  const roundTable = (id) => {
    const [round, row] = place(id), { k, columns } = data.rounds[round];
    const head = make("tr", "", ...["", "token", ...columns].map((name) =>
      make("th", name === "token" ? "name" : "", name)));
    const rows = [];
    for (let i = 0; i <= k; i++) {
      const token = data.tokens[`r${round}.${i}`];
      if (!token) continue;
      const known = new Map(token.facts.map(([name, value]) => [named(name), value]));
      rows.push(make("tr", i === row ? "on" : "", make("td", token.kind, token.mark),
        make("td", "name", make("bdi", token.kind, named(token.name))),
        ...columns.map((name) => make("td", "", known.get(name) || "–"))));
    }
    return make("table", "", head, ...rows);
  };

  const draws = (token) => make("div", "", ...token.draws.map(([who, name, number]) =>
    make("p", "", make("span", "quiet", `${who} drew `), make("bdi", "", named(name)),
      make("span", "quiet", ` id ${number}`))));

  const isRaw = (token) => token.facts.some(([, , raw]) => raw);

  const facts = (token) => make("div", isRaw(token) ? "grid raw" : "grid", ...token.facts.map(([name, value, raw]) =>
    make("div", "", make("span", "", named(name)), raw ? `${value} (${raw})` : value)));

  const lists = (token) => {
    const top = Math.max(...token.lists.flatMap(([, , ...rows]) => rows.map(([, value]) => share(value))), 1e-9);
    return make("div", "lists", ...token.lists.map(([title, note, ...rows]) => make("section", "",
      make("h4", "", `${named(title)} ${note}`), make("ol", "", ...rows.map(([name, value, kind]) => {
        const bar = make("i");
        bar.style.width = percent(share(value) / top);
        return make("li", "", bar, make("bdi", kind, named(name)), make("span", "", value));
      })))));
  };

  const show = (id) => {
    const token = data.tokens[id], [number] = place(id), round = data.rounds[number];
    const link = make("a", "", round.title);
    link.href = `#${id}`;
    const name = make("h3", "", make("span", "", `${token.mark} `), make("bdi", token.kind, named(token.name)),
      `  ${token.kind}`);
    const live = make("p", "said", said.get(id));
    live.setAttribute("aria-live", "polite");
    panel.replaceChildren(...[make("h2", "", link), name, make("p", "quiet", `id ${token.id} · ${token.bytes}`), live,
      token.test ? testBar(token.test) : null, token.draws.length ? draws(token) : null, roundTable(id), facts(token),
      isRaw(token) ? make("p", "quiet", "in brackets: at temperature 1, without top-k and top-p") : null, lists(token),
      token.details.length ? make("p", "quiet", token.details.map(named).join(" · ")) : null,
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
