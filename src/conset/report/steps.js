// Steps through the phases of a schedule: network, list of messages and time axis, linked by hovering.
// Data: conset/report/steps.py. Without this script, or in a browser that cannot unpack, the page's still pictures remain.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg", LISTED = 200, PLAY_MS = 700, TICKS = 10000;

  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const make = (parent, name, attributes = {}, text = "") => {
    const svg = parent.namespaceURI === SVG || name === "svg";
    const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  };
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
  const inUnits = (value, step, units) => {
    let k = 0;
    while (k < units.length - 1 && value >= step) { value /= step; k++; }
    return `${+value.toPrecision(4)} ${units[k]}`;
  };
  const formatBytes = (b) => inUnits(b, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  const formatTime = (s) => (s < 1 ? inUnits(s * 1e9, 1000, ["ns", "us", "ms"]) : `${+s.toPrecision(4)} s`);

  // From (x, y) to (u, v), its middle pulled by (dx, dy): in two halves, so that a marker can be between them.
  const curve = (x, y, u, v, dx, dy) => {
    const cx = (x + u) / 2 + dx, cy = (y + v) / 2 + dy;
    return `M${x} ${y}Q${(x + cx) / 2} ${(y + cy) / 2} ${(x + 2 * cx + u) / 4} ${(y + 2 * cy + v) / 4}Q${(cx + u) / 2} ${(cy + v) / 2} ${u} ${v}`;
  };

  class Steps {
    constructor(box, data) {
      Object.assign(this, { box, data, phase: 0, focus: null, timer: 0, from: 0, to: TICKS });
      this.count = data.phases.length - 1;
      this.at = [0];
      for (const hops of data.hops) this.at.push(this.at[this.at.length - 1] + hops);
      this.follow();
      this.buildBar();
      this.stage = make(box, "div", { class: "stage" });
      this.buildNetwork();
      const side = make(this.stage, "div", { class: "list" });
      this.list = make(make(side, "table"), "tbody");
      if (data.start) this.buildTime();
      make(box, "p", { class: "quiet" }, `Keys: ← → phases, Home End, space plays.${data.start ? " Time: wheel or + − zoom, drag moves, 0 shows all." : ""}`);
      this.listen();
      this.show(0);
    }

    // Every hop of every route: of the links that leave its place, the one with its number.
    follow() {
      const { place, rank, wires, ways, source, hops } = this.data, out = place.map(() => []);
      wires.forEach(([from], link) => out[from].push(link));
      this.route = [];
      for (let k = 0, j = 0; k < source.length; k++) {
        let node = rank[source[k]];
        for (let h = 0; h < hops[k]; h++, j++) {
          const link = out[node][ways[j]];
          this.route.push(link);
          node = wires[link][1];
        }
      }
    }

    links(k) { return this.route.slice(this.at[k], this.at[k + 1]); }
    range() { return [this.data.phases[this.phase], this.data.phases[this.phase + 1]]; }

    buildBar() {
      const bar = make(this.box, "div", { class: "bar" });
      const button = (text, label, act) => {
        const made = make(bar, "button", { type: "button", "aria-label": label, title: label }, text);
        made.addEventListener("click", act);
        return made;
      };
      button("◀", "phase before", () => this.show(this.phase - 1));
      this.play = button("▶", "play", () => this.toggle());
      button("▶|", "phase behind", () => this.show(this.phase + 1));
      this.slider = make(bar, "input", { type: "range", min: 0, max: this.count - 1, value: 0, "aria-label": "phase" });
      this.slider.addEventListener("input", () => this.show(+this.slider.value));
      this.head = make(this.box, "p", { class: "head", "aria-live": "polite" });
    }

    buildNetwork() {
      const { place, rank, wires, bent } = this.data;
      const xs = place.map((p) => p[0]), ys = place.map((p) => p[1]);
      const pad = 600 + (bent ? 0.13 * Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)) : 0);
      const [left, top] = [Math.min(...xs) - pad, Math.min(...ys) - pad];
      const [wide, high] = [Math.max(...xs) + pad - left, Math.max(...ys) + pad - top];
      this.svg = make(this.stage, "svg", { viewBox: `${left} ${top} ${wide} ${high}`, role: "img", "aria-label": "network in this phase" });
      this.wires = wires.map(([a, b], link) => {
        const [x, y] = place[a], [u, v] = place[b], length = Math.hypot(u - x, v - y) || 1;
        const far = bent && length > 1600, side = far ? 0.24 * length : 95;
        const dx = (-(v - y) / length) * side, dy = ((u - x) / length) * side, near = far ? 0 : 1;
        const path = make(this.svg, "path", { d: curve(x + near * dx, y + near * dy, u + near * dx, v + near * dy, far * dx, far * dy), class: "wire" });
        path.addEventListener("pointerenter", () => this.point((k) => this.links(k).includes(link), this.data.names[link]));
        path.addEventListener("pointerleave", () => this.point(null));
        return path;
      });
      this.lines = make(this.svg, "g");
      const ranks = place.map(() => []);
      rank.forEach((node, r) => ranks[node].push(r));
      this.discs = place.map(([cx, cy], node) => {
        const own = ranks[node], switches = !own.length;
        const group = make(this.svg, "g", { class: switches ? "node switch" : "node" });
        make(group, "circle", { cx, cy, r: switches ? 130 : 240 });
        const name = own.length > 2 ? `${own[0]}…` : own.join(" ");
        if (name && place.length <= 400) make(group, "text", { x: cx, y: cy + 75 }, name);
        const { source, target } = this.data, within = new Set(own);
        group.addEventListener("pointerenter", () => own.length && this.point((k) => within.has(source[k]) || within.has(target[k]), `rank ${own.join(", ")}`));
        group.addEventListener("pointerleave", () => this.point(null));
        return { group, own };
      });
    }

    buildTime() {
      const { data } = this;
      this.ranks = Math.max(...data.source) + 1;
      this.row = Math.max(2, Math.min(14, 420 / this.ranks));
      this.canvas = make(this.box, "canvas", { class: "time", role: "img", "aria-label": "time axis: sends of every rank" });
      this.canvas.style.height = `${this.ranks * this.row + 26}px`;
      const zoom = (factor, share = this.middle()) => {
        const middle = this.from + (this.to - this.from) * share;
        const span = Math.min(TICKS, Math.max(20, (this.to - this.from) * factor));
        this.from = Math.max(0, Math.min(TICKS - span, middle - span * share));
        this.to = this.from + span;
        this.drawTime();
      };
      this.zoom = zoom;
      const share = (event) => event.offsetX / this.canvas.clientWidth;
      this.canvas.addEventListener("wheel", (event) => {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, share(event));
      }, { passive: false });
      let held = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        held = { x: event.offsetX, from: this.from, moved: false };
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointerup", (event) => {
        const k = held && !held.moved ? this.hit(event) : -1;
        held = null;
        if (k >= 0) this.show(this.phaseOf(k));
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (held) {
          const span = this.to - this.from, by = ((event.offsetX - held.x) / this.canvas.clientWidth) * span;
          held.moved = held.moved || Math.abs(event.offsetX - held.x) > 3;
          this.from = Math.max(0, Math.min(TICKS - span, held.from - by));
          this.to = this.from + span;
          this.drawTime();
          return;
        }
        const k = this.hit(event);
        this.point(k < 0 ? null : (other) => other === k, k < 0 ? "" : this.describe(k), k);
      });
      this.canvas.addEventListener("pointerleave", () => this.point(null));
      new ResizeObserver(() => this.drawTime()).observe(this.canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawTime());
    }

    // Where the phase is on the part of the time axis that is shown.
    middle() {
      const { start, took } = this.data, [low, high] = this.range();
      const at = (start[low] + start[high - 1] + took[high - 1]) / 2;
      return Math.max(0, Math.min(1, (at - this.from) / (this.to - this.from)));
    }

    hit(event) {
      const { start, took, source } = this.data;
      const time = this.from + (event.offsetX / this.canvas.clientWidth) * (this.to - this.from);
      const rank = Math.floor(event.offsetY / this.row);
      return source.findIndex((r, k) => r === rank && start[k] <= time && time <= start[k] + took[k]);
    }

    phaseOf(k) {
      const { phases } = this.data;
      let p = 0;
      while (phases[p + 1] <= k) p++;
      return p;
    }

    describe(k) {
      const { source, target, bytes, hops, start, took, time_s: all } = this.data;
      const when = start ? `, ${formatTime((start[k] / TICKS) * all)} for ${formatTime((took[k] / TICKS) * all)}` : "";
      return `${source[k]} → ${target[k]}: ${formatBytes(bytes[k])}${hops[k] ? `, ${count(hops[k], "link")}` : ""}${when}`;
    }

    listen() {
      this.box.tabIndex = 0;
      this.box.addEventListener("keydown", (event) => {
        const acts = {
          ArrowLeft: () => this.show(this.phase - 1), ArrowRight: () => this.show(this.phase + 1),
          Home: () => this.show(0), End: () => this.show(this.count - 1), " ": () => this.toggle(),
          "+": () => this.zoom?.(0.6), "-": () => this.zoom?.(1.67), 0: () => this.zoom?.(TICKS),
        };
        if (!acts[event.key] || event.ctrlKey || event.metaKey || (event.key === " " && event.target.tagName === "BUTTON")) return;
        event.preventDefault();
        acts[event.key]();
      });
    }

    toggle() {
      if (this.timer) return this.stop();
      if (this.phase === this.count - 1) this.show(0);
      this.timer = setInterval(() => (this.phase < this.count - 1 ? this.show(this.phase + 1) : this.stop()), PLAY_MS);
      this.play.textContent = "❚❚";
      this.play.setAttribute("aria-label", "stop");
    }

    stop() {
      clearInterval(this.timer);
      this.timer = 0;
      this.play.textContent = "▶";
      this.play.setAttribute("aria-label", "play");
    }

    // A phase: loads of links, messages, what ranks do.
    show(phase) {
      this.phase = Math.max(0, Math.min(this.count - 1, phase));
      this.slider.value = this.phase;
      const { data } = this, [low, high] = this.range();
      const load = this.wires.map(() => 0), busy = new Set();
      let bytes = 0, first = Infinity, last = 0;
      for (let k = low; k < high; k++) {
        for (const link of this.links(k)) load[link]++;
        busy.add(data.source[k]).add(data.target[k]);
        bytes += data.bytes[k];
        if (data.start) { first = Math.min(first, data.start[k]); last = Math.max(last, data.start[k] + data.took[k]); }
      }
      const most = load.reduce((a, b) => Math.max(a, b), 0);
      this.wires.forEach((wire, link) => {
        wire.classList.toggle("used", load[link] > 0);
        wire.style.strokeWidth = load[link] ? 30 + 110 * (load[link] / Math.max(most, 2)) : "";
      });
      this.discs.forEach(({ group, own }) => group.classList.toggle("busy", own.some((r) => busy.has(r))));
      this.lines.replaceChildren();
      if (!this.wires.length) for (let k = low; k < high; k++) this.line(k);
      this.list.replaceChildren();
      this.rows = new Map();
      for (let k = low; k < Math.min(high, low + LISTED); k++) {
        const row = make(this.list, "tr");
        for (const text of [`${data.source[k]} → ${data.target[k]}`, formatBytes(data.bytes[k]), data.hops[k] ? count(data.hops[k], "link") : ""]) make(row, "td", {}, text);
        row.addEventListener("pointerenter", () => this.point((other) => other === k, this.describe(k)));
        row.addEventListener("pointerleave", () => this.point(null));
        this.rows.set(k, row);
      }
      if (high - low > LISTED) make(make(this.list, "tr"), "td", { colspan: 3 }, `… ${count(high - low - LISTED, "more message")}`);
      const loads = most ? `, at most ${count(most, "message")} on a link` : "";
      const times = data.start && high > low ? `, ${formatTime((first / TICKS) * data.time_s)} to ${formatTime((last / TICKS) * data.time_s)} by ${data.model}` : "";
      if (last > this.to || first < this.from) {
        const span = this.to - this.from;
        this.from = Math.max(0, Math.min(TICKS - span, (first + last - span) / 2));
        this.to = this.from + span;
      }
      this.text = `Phase ${this.phase} of ${this.count}: ${count(high - low, "message")}, ${formatBytes(bytes)}${loads}${times}`;
      this.point(null);
    }

    line(k) {
      const { place, rank, source, target } = this.data;
      const [x, y] = place[rank[source[k]]], [u, v] = place[rank[target[k]]];
      const path = make(this.lines, "path", { d: curve(x, y, u, v, (y - v) * 0.24, (u - x) * 0.24), class: "wire used" });
      path.dataset.transfer = k;
    }

    // Highlights the transfers that fit, in all views.
    point(fits, text = "", only = -1) {
      const [low, high] = this.range();
      this.focus = fits ? new Set() : null;
      const links = new Set();
      for (let k = low; fits && k < high; k++) if (fits(k)) { this.focus.add(k); this.links(k).forEach((link) => links.add(link)); }
      if (only >= 0) this.focus.add(only);
      this.wires.forEach((wire, link) => wire.classList.toggle("on", links.has(link)));
      for (const path of this.lines.children) path.classList.toggle("on", !!this.focus?.has(+path.dataset.transfer));
      this.rows.forEach((row, k) => row.classList.toggle("on", !!this.focus?.has(k)));
      const ends = new Set();
      this.focus?.forEach((k) => ends.add(this.data.source[k]).add(this.data.target[k]));
      this.discs.forEach(({ group, own }) => group.classList.toggle("on", own.some((r) => ends.has(r))));
      const several = this.focus && !text.includes("→ ") ? ` (${count(this.focus.size, "message")})` : "";
      this.head.textContent = text ? `Phase ${this.phase}: ${text}${several}` : this.text;
      this.drawTime();
    }

    drawTime() {
      if (!this.canvas || !this.canvas.clientWidth) return;
      const { start, took, source, time_s: all } = this.data, [low, high] = this.range();
      const ratio = devicePixelRatio || 1, wide = this.canvas.clientWidth, tall = this.canvas.clientHeight;
      this.canvas.width = wide * ratio;
      this.canvas.height = tall * ratio;
      const pen = this.canvas.getContext("2d"), style = getComputedStyle(this.box);
      const colour = (name) => style.getPropertyValue(`--${name}`).trim();
      pen.scale(ratio, ratio);
      const scale = wide / (this.to - this.from);
      const bars = (from, to, fill, wanted = null) => {
        pen.fillStyle = fill;
        for (let k = from; k < to; k++) {
          if (wanted && !wanted.has(k)) continue;
          const x = (start[k] - this.from) * scale, width = Math.max(took[k] * scale, 1);
          if (x + width >= 0 && x <= wide) pen.fillRect(x, source[k] * this.row, width, Math.max(this.row - 1, 1));
        }
      };
      bars(0, source.length, colour("line"));
      bars(low, high, colour("accent"));
      if (this.focus) bars(0, source.length, colour("wrong"), this.focus);
      pen.fillStyle = pen.strokeStyle = colour("quiet");
      pen.font = "11px system-ui, sans-serif";
      const base = this.ranks * this.row + 4, steps = Math.max(2, Math.floor(wide / 110));
      for (let k = 0; k <= steps; k++) {
        const x = (wide * k) / steps, time = ((this.from + ((this.to - this.from) * k) / steps) / TICKS) * all;
        pen.fillRect(Math.min(x, wide - 1), base, 1, 4);
        pen.textAlign = k === 0 ? "left" : k === steps ? "right" : "center";
        pen.fillText(formatTime(time), x, base + 17);
      }
    }
  }

  for (const box of document.querySelectorAll(".steps[data-steps]")) {
    unpack(box.dataset.steps).then((data) => {
      box.removeAttribute("data-steps");
      box.hidden = false;
      box.steps = new Steps(box, data);
    }, () => {});
  }
})();
