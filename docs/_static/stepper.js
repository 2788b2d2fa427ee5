/* The worst case of Theorem 2, step by step: a broom, a cache, two policies side by side.
   No dependencies and no network. The simulation is separate from the drawing, so that a test can
   hold it to the Python specification (tests/docs/test_stepper.py). */
"use strict";

const kvbounds = (() => {
  /* A small seeded generator (mulberry32): the same seed draws the same victims. */
  function generator(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let x = Math.imul(state ^ (state >>> 15), 1 | state);
      x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
      return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
    };
  }

  /* A handle of L - 1 tokens with B - L + 2 leaves; beta - 1 of them are in every batch. */
  function broom(B, L, beta) {
    const parent = [];
    for (let t = 0; t < L - 1; t++) parent.push(t - 1);
    const leaves = B - L + 2;
    for (let i = 0; i < leaves; i++) parent.push(L - 2);
    const fixed = [];
    const free = [];
    for (let i = 0; i < leaves; i++) (i < beta - 1 ? fixed : free).push(L - 1 + i);
    return { parent, handle: L - 1, fixed, free };
  }

  function footprint(trie, queries) {
    const tokens = new Set();
    for (let t of queries) for (; t !== -1 && !tokens.has(t); t = trie.parent[t]) tokens.add(t);
    return [...tokens].sort((a, b) => a - b);
  }

  function sequence(trie, steps) {
    return Array.from({ length: steps }, (_, j) => [...trie.fixed, trie.free[j % trie.free.length]]);
  }

  const policies = {
    "leaf-lru": () => {
      const last = new Map();
      return {
        step: (tokens, now) => tokens.forEach((t) => last.set(t, now)),
        choose: (leaves) =>
          leaves.reduce((a, b) => (last.get(b) < last.get(a) || (last.get(b) === last.get(a) && b > a) ? b : a)),
      };
    },
    fifo: () => {
      const born = new Map();
      return {
        step: (tokens, now, cached) => tokens.forEach((t) => cached.has(t) || born.set(t, now)),
        choose: (leaves) =>
          leaves.reduce((a, b) => (born.get(b) < born.get(a) || (born.get(b) === born.get(a) && b > a) ? b : a)),
      };
    },
    mru: () => {
      const last = new Map();
      return {
        step: (tokens, now) => tokens.forEach((t) => last.set(t, now)),
        choose: (leaves) => leaves.reduce((a, b) => (last.get(b) >= last.get(a) ? b : a)),
      };
    },
    rlt: (B, random) => marking(B, random, true),
    "rlt-step": (B, random) => marking(B, random, false),
  };

  function marking(B, random, generations) {
    let marks = new Set();
    let before = new Set();
    return {
      step: (tokens) => {
        if (new Set([...marks, ...tokens]).size > B) {
          before = marks;
          marks = new Set();
        }
        tokens.forEach((t) => marks.add(t));
      },
      choose: (leaves) => {
        const unmarked = leaves.filter((t) => !marks.has(t));
        const old = generations ? unmarked.filter((t) => !before.has(t)) : [];
        const pool = old.length ? old : unmarked;
        return pool[Math.floor(random() * pool.length)];
      },
      marks: () => new Set(marks),
    };
  }

  function farthest(steps, prints) {
    return (leaves, now) => {
      const next = (t) => {
        for (let j = now + 1; j < prints.length; j++) if (prints[j].includes(t)) return j;
        return Infinity;
      };
      return leaves.reduce((a, b) => (next(b) > next(a) || (next(b) === next(a) && b > a) ? b : a));
    };
  }

  /* Serve the whole sequence; one record a step: {tokens, hits, misses, evicted, cached, marks}. */
  function run(trie, B, steps, name, seed) {
    const prints = steps.map((queries) => footprint(trie, queries));
    const policy =
      name === "optimum"
        ? { step: () => {}, choose: farthest(steps, prints) }
        : policies[name](B, generator(seed));
    const cached = new Set();
    return prints.map((tokens, now) => {
      const locked = new Set(tokens);
      const misses = tokens.filter((t) => !cached.has(t));
      policy.step(tokens, now, cached);
      const evicted = [];
      while (cached.size + misses.length > B) {
        const inner = new Set([...cached].map((t) => trie.parent[t]));
        const leaves = [...cached].filter((t) => !inner.has(t) && !locked.has(t)).sort((a, b) => a - b);
        const victim = policy.choose(leaves, now);
        cached.delete(victim);
        evicted.push(victim);
      }
      misses.forEach((t) => cached.add(t));
      return {
        tokens,
        misses,
        evicted,
        hits: tokens.length - misses.length,
        cached: new Set(cached),
        marks: policy.marks ? policy.marks() : new Set(),
      };
    });
  }

  const total = (records, upto) => records.slice(0, upto + 1).reduce((sum, r) => sum + r.misses.length, 0);
  return { broom, sequence, run, total, names: Object.keys(policies) };
})();

/* ---- the page ---------------------------------------------------------------------------- */

if (typeof document !== "undefined") {
  document.addEventListener("DOMContentLoaded", () => {
    const root = document.getElementById("kvbounds-stepper");
    if (!root) return;
    const field = (name) => root.querySelector(`[name=${name}]`);
    const number = (name) => Number.parseInt(field(name).value, 10);
    for (const side of ["left", "right"])
      for (const name of kvbounds.names) field(side).add(new Option(name, name));
    field("left").value = "leaf-lru";
    field("right").value = "rlt";
    let state = null;
    let timer = null;

    function clamp(name, low, high) {
      const input = field(name);
      input.min = low;
      input.max = high;
      const value = Number.isNaN(number(name)) ? low : Math.min(high, Math.max(low, number(name)));
      if (String(value) !== input.value) input.value = value;
      return value;
    }

    function rebuild() {
      const B = clamp("B", 2, 16);
      const L = clamp("L", 1, B);
      const beta = clamp("beta", 1, B - L + 1);
      const seed = clamp("seed", 0, 999999);
      const trie = kvbounds.broom(B, L, beta);
      const steps = kvbounds.sequence(trie, 12 * trie.free.length);
      const optimum = kvbounds.run(trie, B, steps, "optimum", 0);
      state = { B, L, beta, trie, steps, optimum, sides: {} };
      for (const side of ["left", "right"])
        state.sides[side] = kvbounds.run(trie, B, steps, field(side).value, seed);
      field("step").max = steps.length - 1;
      if (number("step") > steps.length - 1) field("step").value = 0;
      draw();
    }

    const SVG = "http://www.w3.org/2000/svg";
    function node(name, attributes, text) {
      const element = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text !== undefined) element.textContent = text;
      return element;
    }

    function picture(side, now) {
      const { trie } = state;
      const record = state.sides[side][now];
      const leaves = [...trie.fixed, ...trie.free];
      const width = 46 * Math.max(leaves.length, 2);
      const height = 46 * trie.handle + 48;
      const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
      svg.append(
        node("title", {}, `Step ${now + 1}: hits ${record.hits}, misses ${record.misses.length}, evicted ${record.evicted.length}`),
      );
      const at = (t) =>
        t < trie.handle
          ? [width / 2, 24 + 46 * t]
          : [23 + 46 * leaves.indexOf(t), 24 + 46 * trie.handle];
      trie.parent.forEach((p, t) => {
        if (p < 0) return;
        const [x1, y1] = at(p);
        const [x2, y2] = at(t);
        svg.append(node("line", { x1, y1, x2, y2, class: "edge" }));
      });
      trie.parent.forEach((p, t) => {
        const [cx, cy] = at(t);
        const asked = record.tokens.includes(t);
        const missed = record.misses.includes(t);
        const evicted = record.evicted.includes(t);
        const kind = missed ? "miss" : asked ? "hit" : record.cached.has(t) ? "cached" : "absent";
        svg.append(node("circle", { cx, cy, r: 16, class: `token ${kind}${record.marks.has(t) ? " marked" : ""}` }));
        svg.append(node("text", { x: cx, y: cy + 5, class: `label on-${kind}` }, evicted ? "×" : missed ? "!" : String(t)));
      });
      return svg;
    }

    function draw() {
      const now = number("step");
      const bound = state.B - state.L - state.beta + 2;
      const best = kvbounds.total(state.optimum, now);
      root.querySelector("[data-out=step]").textContent = `step ${now + 1} of ${state.steps.length}`;
      root.querySelector("[data-out=bound]").textContent =
        `k = B − L − β + 2 = ${bound}; the optimum has missed ${best} so far`;
      for (const side of ["left", "right"]) {
        const misses = kvbounds.total(state.sides[side], now);
        root.querySelector(`[data-picture=${side}]`).replaceChildren(picture(side, now));
        root.querySelector(`[data-out=${side}]`).textContent =
          `${misses} misses, ratio ${(misses / best).toFixed(2)}`;
      }
    }

    function move(by) {
      const slider = field("step");
      slider.value = Math.min(Number(slider.max), Math.max(0, number("step") + by));
      draw();
    }

    function play(on) {
      clearInterval(timer);
      timer = null;
      if (on)
        timer = setInterval(() => {
          if (number("step") >= Number(field("step").max)) play(false);
          else move(1);
        }, 350);
      field("play").textContent = on ? "Pause" : "Play";
    }

    for (const name of ["B", "L", "beta", "seed", "left", "right"]) field(name).addEventListener("change", rebuild);
    field("step").addEventListener("input", draw);
    field("back").addEventListener("click", () => move(-1));
    field("next").addEventListener("click", () => move(1));
    field("play").addEventListener("click", () => play(timer === null));
    root.addEventListener("keydown", (event) => {
      if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
      if (event.key === "ArrowRight") move(1);
      else if (event.key === "ArrowLeft") move(-1);
      else return;
      event.preventDefault();
    });
    rebuild();
  });
}
if (typeof module !== "undefined") module.exports = kvbounds;
