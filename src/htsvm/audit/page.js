"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const make = (tag, text, name) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (name) node.className = name;
    return node;
  };
  const { classes, rows } = data;
  const n = rows.row.length;
  // Decisions belong to a row of one audit: they are kept under the digest of the table, by the key
  // of the row. What was reviewed last at this place is known, so that a changed table can say so.
  const key = "htsvm-audit:" + data.place + ":" + data.mark;
  const lastKey = "htsvm-last:" + data.place;
  const places = new Map(rows.key.map((name, i) => [name, i]));
  const HEIGHT = 44;
  // A decision is [kind, class]: kind is keep, accept, other or unsure.
  let decisions = new Map();
  let past = [];
  // Kept decisions about rows that this page does not list, rows that were decided since the state
  // was written, the state as it was read or written last, and an audit whose decisions are offered.
  let elsewhere = [];
  const pending = new Set();
  let written = null;
  let earlier = null;
  let settled = false;
  let unkept = false;
  let view = [];
  let current = -1;
  // The rows that calibrate the audit come first; what has been learned from reviewed rows so far.
  const first = new Map(data.first.map((i, place) => [i, place]));
  let found = null;
  let fitted = 0;

  // ------------------------------------------------------------------------------- state
  const line = (i, [kind, label]) => [rows.key[i], classes[rows.given[i]], kind, label < 0 ? "" : classes[label]];
  const known = (kept) => {
    const found = [];
    for (const [name, given, kind, label] of kept || []) {
      const i = places.get(name), k = kind === "unsure" ? -1 : classes.indexOf(label);
      if (i !== undefined && classes[rows.given[i]] === given && (k >= 0 || kind === "unsure")) found.push([i, [kind, k]]);
    }
    return found;
  };
  const take = (kept) => {
    decisions = new Map(known(kept.decisions));
    elsewhere = kept.decisions.filter(([name]) => !places.has(name));
  };
  // All decisions of an audit, and of those before whose decisions it has not settled.
  const chain = (name, seen = new Set([key])) => {
    const kept = name && !seen.has(name) && JSON.parse(localStorage.getItem(name) || "null");
    return kept ? [...kept.decisions, ...chain(kept.earlier, seen.add(name))] : [];
  };
  const load = () => {
    try {
      written = localStorage.getItem(key);
      const kept = JSON.parse(written || "null"), last = localStorage.getItem(lastKey);
      if (kept) {
        take(kept);
        const steps = kept.past.filter(([name, was]) => places.has(name) && (!was || known([was]).length));
        past = steps.map(([name, was]) => [places.get(name), was && known([was])[0][1]]);
      }
      earlier = (kept && kept.earlier) || (last === key ? null : last);
      const before = [...new Map(chain(earlier).reverse().map((one) => [one[0], one])).values()];
      const same = known(before).filter(([i]) => !decisions.has(i));
      if (before.length && (same.length || !kept)) offer(before.length, same);
      else earlier = null;
    } catch (error) { say("The browser keeps no state here: export before you leave."); }
  };
  // What another tab has written since stands, but for rows that were decided here.
  const merge = () => {
    const stored = localStorage.getItem(key);
    if (stored === written || stored === null) return false;
    const mine = [...pending].map((i) => [i, decisions.get(i)]);
    take(JSON.parse(stored));
    for (const [i, one] of mine) if (one) decisions.set(i, one); else decisions.delete(i);
    written = stored;
    return true;
  };
  const store = () => {
    try {
      // Until something is decided, what was reviewed last stays what it was.
      if (!pending.size && !settled) return;
      merge();
      const steps = past.slice(-1000).map(([i, was]) => [rows.key[i], was && line(i, was)]);
      const all = [...[...decisions].map(([i, one]) => line(i, one)), ...elsewhere];
      written = JSON.stringify({ decisions: all, past: steps, earlier });
      localStorage.setItem(key, written);
      localStorage.setItem(lastKey, key);
      pending.clear();
      settled = unkept = false;
    } catch (error) {
      unkept = true;
      say("The browser could not keep the state: export before you leave.");
    }
  };
  const catchUp = () => {
    try { if (!merge()) return; } catch (error) { return; }
    refresh(false);
    select(current);
  };
  const offer = (count, same) => {
    $("changedText").textContent = "This table is not the one that was reviewed here before. Of its " + count + " decisions " + same.length + " are about rows that are listed here and still the same.";
    $("takeOver").disabled = !same.length;
    $("takeOver").textContent = "Take over " + same.length;
    $("changed").hidden = false;
    const settle = (some) => {
      for (const [i, decision] of some) if (!decisions.has(i)) { decisions.set(i, decision); pending.add(i); }
      $("changed").hidden = true;
      earlier = null;
      settled = true;
      storeSoon();
      refresh(true);
      $("list").focus();
    };
    $("takeOver").addEventListener("click", () => settle(same));
    $("startAnew").addEventListener("click", () => settle([]));
  };
  const say = (text) => { $("said").textContent = text; };
  let storing = 0;
  const storeSoon = () => { clearTimeout(storing); storing = setTimeout(store, decisions.size > 5000 ? 1000 : 0); };
  window.addEventListener("pagehide", store);
  window.addEventListener("storage", catchUp);
  document.addEventListener("visibilitychange", catchUp);
  window.addEventListener("beforeunload", (event) => { if (unkept) event.preventDefault(); });

  const decide = (kind, label) => {
    if (current < 0 || current >= view.length) return;
    const i = view[current];
    past.push([i, decisions.get(i) || null]);
    decisions.set(i, [kind, label]);
    pending.add(i);
    storeSoon();
    const words = kind === "unsure" ? "unsure" : kind === "keep" ? "kept " + classes[label] : "now " + classes[label];
    say(rows.id[i] + ": " + words);
    const before = current;
    refresh(false);
    // With reviewed rows hidden the next one has moved up to this place.
    select(view[before] === i ? before + 1 : before);
  };
  const undo = () => {
    const last = past.pop();
    if (!last) { say("Nothing to undo."); return; }
    const [i, was] = last;
    if (was) decisions.set(i, was); else decisions.delete(i);
    pending.add(i);
    storeSoon();
    refresh(false);
    const place = view.indexOf(i);
    if (place >= 0) select(place);
    say(rows.id[i] + ": undone");
  };

  // -------------------------------------------------------------------------------- list
  const wanted = (i) => {
    const given = $("given").value, better = $("suggested").value, status = $("status").value;
    const decision = decisions.get(i);
    if (given !== "" && rows.given[i] !== +given) return false;
    if (better !== "" && rows.suggested[i] !== +better) return false;
    if (rows.trust[i] > +$("below").value) return false;
    if (status === "open") return !decision;
    if (status === "done") return Boolean(decision);
    if (status === "unsure") return Boolean(decision) && decision[0] === "unsure";
    if (status === "duplicate") return rows.duplicate[i] >= 0;
    if (status === "outlier") return rows.outlier[i] === 1;
    return true;
  };
  // Reviewed rows with a label: what they say about the trust, and how many there are in all.
  const judged = () => [...decisions].filter(([, [kind]]) => kind !== "unsure").map(([i, [, label]]) => [rows.evidence[i], label === rows.given[i] ? 1 : 0]);
  const reviewed = () => data.review.reviewed + [...decisions.values()].filter(([kind]) => kind !== "unsure").length;
  const calibrated = () => reviewed() >= data.review.enough;
  // Once enough rows are reviewed the trust of all rows is computed anew, and after each 25 more.
  const learn = () => {
    const count = reviewed();
    if (!calibrated() || !data.review.learnable || (found && Math.abs(count - fitted) < 25)) return;
    found = htsvmReview.calibrate(data.review, judged());
    fitted = count;
    for (let i = 0; i < n; i++) rows.trust[i] = htsvmReview.trust(found, rows.evidence[i]);
    data.sorted = false;
  };
  const waiting = (i) => (first.has(i) && !calibrated() ? first.get(i) : data.first.length);
  const orders = {
    review: (a, b) => waiting(a) - waiting(b) || rows.trust[a] - rows.trust[b] || a - b,
    trust: (a, b) => rows.trust[a] - rows.trust[b] || a - b,
    pair: (a, b) => rows.given[a] - rows.given[b] || rows.suggested[a] - rows.suggested[b] || rows.trust[a] - rows.trust[b],
    row: (a, b) => rows.row[a] - rows.row[b],
  };
  const refresh = (restart) => {
    learn();
    view = [];
    for (let i = 0; i < n; i++) if (wanted(i)) view.push(i);
    const plain = $("order").value === "trust" || ($("order").value === "review" && (calibrated() || !first.size));
    if (!plain || !data.sorted) view.sort(orders[$("order").value]);
    $("spacer").style.height = view.length * HEIGHT + "px";
    $("belowText").textContent = (+$("below").value).toFixed(2);
    progress();
    if (restart) { $("list").scrollTop = 0; select(0); } else draw();
  };
  const pool = [];
  const draw = () => {
    const list = $("list");
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 4);
    const last = Math.min(view.length, first + Math.ceil(list.clientHeight / HEIGHT) + 9);
    while (pool.length < last - first) {
      const node = make("div", "", "row");
      node.setAttribute("role", "option");
      const parts = ["id", "trust", "pair", "state"].map((name) => node.appendChild(make("span", "", name)));
      node.addEventListener("click", () => { select(node.place); list.focus(); });
      pool.push({ node, parts });
      list.appendChild(node);
    }
    pool.forEach(({ node, parts }, p) => {
      const place = first + p;
      node.hidden = place >= last;
      node.style.display = node.hidden ? "none" : "";
      if (node.hidden) return;
      const i = view[place];
      const decision = decisions.get(i);
      node.place = place;
      node.id = "row-" + i;
      node.style.transform = "translateY(" + place * HEIGHT + "px)";
      node.classList.toggle("current", place === current);
      node.setAttribute("aria-selected", String(place === current));
      node.setAttribute("aria-posinset", String(place + 1));
      node.setAttribute("aria-setsize", String(view.length));
      parts[0].textContent = rows.id[i];
      parts[1].textContent = rows.trust[i].toFixed(2);
      parts[2].textContent = classes[rows.given[i]] + (rows.suggested[i] === rows.given[i] ? "" : " → " + classes[rows.suggested[i]]);
      parts[3].textContent = decision ? (decision[0] === "unsure" ? "unsure" : classes[decision[1]]) : "";
    });
  };
  const select = (place) => {
    current = view.length ? Math.max(0, Math.min(place, view.length - 1)) : -1;
    const list = $("list");
    const top = current * HEIGHT;
    if (current >= 0 && (top < list.scrollTop || top + HEIGHT > list.scrollTop + list.clientHeight)) {
      list.scrollTop = Math.max(0, top - list.clientHeight / 3);
    }
    if (current >= 0) list.setAttribute("aria-activedescendant", "row-" + view[current]);
    draw();
    card();
  };

  // -------------------------------------------------------------------------------- card
  const picture = (row, name) => {
    const image = make("img", undefined, name);
    image.src = data.images[row];
    image.alt = "image of sample " + (row + 1);
    return image;
  };
  // A rank and a coarse word: how many labels like this are right is not known before a review.
  const doubt = (trust) => (found ? "about " + Math.round(100 * trust) + " in 100 such labels are right" : trust < 0.1 ? "very doubtful" : trust < 0.5 ? "doubtful" : trust < 0.9 ? "a little doubtful" : "little speaks against it");
  const nearest = (box, title, found) => {
    if (!found || !found.length) return;
    box.appendChild(make("h3", title));
    const line = make("div");
    for (const [row, text] of found) {
      if (data.images && data.images[row]) line.appendChild(picture(row, "near"));
      else line.appendChild(make("div", text, "near-text"));
    }
    box.appendChild(line);
  };
  const card = () => {
    const box = $("card");
    box.replaceChildren();
    const none = current < 0;
    for (const id of ["keep", "accept", "unsure", "other"]) $(id).disabled = none;
    if (none) {
      box.appendChild(make("p", decisions.size ? "Nothing left here. Export the corrections, or show other rows." : "No suspects here.", "nothing"));
      return;
    }
    const i = view[current];
    box.appendChild(make("h2", rows.id[i]));
    const labels = make("div", undefined, "labels");
    labels.appendChild(make("span", "given"));
    labels.appendChild(make("span", classes[rows.given[i]], "chip given"));
    labels.appendChild(make("span", "suggested"));
    labels.appendChild(make("span", classes[rows.suggested[i]], "chip better"));
    box.appendChild(labels);
    box.appendChild(make("p", "Number " + rows.rank[i] + " of " + data.size + " in the order of doubt: " + doubt(rows.trust[i]) + ". Given up in " + rows.ignored[i] + " of " + data.fits + " fits."));
    if (rows.duplicate[i] >= 0) box.appendChild(make("p", "An equal sample has another label (group " + (rows.duplicate[i] + 1) + ")."));
    if (rows.outlier[i]) box.appendChild(make("p", "Far from all other samples: perhaps of no class at all."));
    if (data.images && data.images[rows.row[i]]) box.appendChild(picture(rows.row[i], "picture"));
    if (rows.text) box.appendChild(make("div", rows.text[i], "text"));
    const reasons = rows.reasons ? rows.reasons[i] : null;
    if (reasons && reasons.length) {
      const table = make("table");
      const head = table.appendChild(make("tr"));
      for (const title of ["against the label", "here", "typical " + classes[rows.given[i]], "typical " + classes[rows.suggested[i]]]) head.appendChild(make("th", title));
      for (const reason of reasons) {
        const line = table.appendChild(make("tr"));
        for (const cell of reason) line.appendChild(make("td", cell));
      }
      box.appendChild(table);
    }
    const near = rows.near ? rows.near[i] : null;
    if (near) {
      nearest(box, "Nearest confirmed " + classes[rows.suggested[i]], near[1]);
      if (rows.given[i] !== rows.suggested[i]) nearest(box, "Nearest confirmed " + classes[rows.given[i]], near[0]);
    }
    $("other").value = "";
    const decision = decisions.get(i);
    if (decision) box.appendChild(make("p", "Reviewed: " + (decision[0] === "unsure" ? "unsure" : classes[decision[1]])));
  };

  // ---------------------------------------------------------------------------- overview
  const progress = () => {
    $("bar").style.width = (n ? 100 * decisions.size / n : 0) + "%";
    $("progress").setAttribute("aria-valuemax", String(n));
    $("progress").setAttribute("aria-valuenow", String(decisions.size));
    $("left").textContent = decisions.size + " of " + n + " reviewed, " + (n - decisions.size) + " left" + (view.length === n ? "" : ", " + view.length + " shown") + (elsewhere.length ? ", " + elsewhere.length + " more about rows not listed here" : "");
    const review = data.review, per = (share) => (100 * share).toFixed(1) + " %";
    if (!review.learnable) $("wrong").textContent = "";
    else if (!calibrated()) $("wrong").textContent = "Review " + (review.enough - reviewed()) + " more of the rows that come first: then the audit knows how good it is.";
    else if (found) {
      const [share, low, high] = htsvmReview.share(found, review.sample, review.weight, review.free);
      const odd = judged().filter(([evidence]) => htsvmReview.trust(found, evidence) < 0.5), right = odd.filter(([, good]) => good).length;
      $("wrong").textContent = "Of the labels that nobody has reviewed " + per(share) + " are wrong (" + per(low) + " to " + per(high) + "), as " + reviewed() + " reviewed rows show. Of " + odd.length + " that are trusted less than one half " + right + " were right.";
    }
  };
  const matrix = () => {
    const pairs = data.pairs;
    const most = Math.max(0.01, ...pairs.filter(([k, j]) => k !== j).map((pair) => pair[2]));
    const box = $("matrix");
    const choose = (true_, given) => {
      $("given").value = String(given); $("suggested").value = true_ === given ? "" : String(true_);
      refresh(true); $("list").focus();
    };
    const cell = (k, j, share) => {
      const button = make("button", (100 * share).toFixed(0));
      button.style.setProperty("--heat", k === j ? "0%" : 60 * share / most + "%");
      button.title = "true " + classes[k] + ", given " + classes[j] + ": " + (100 * share).toFixed(1) + " %";
      button.setAttribute("aria-label", button.title);
      button.addEventListener("click", () => choose(k, j));
      return button;
    };
    const table = make("table");
    if (data.whole) {
      const head = table.appendChild(make("tr"));
      head.appendChild(make("th", ""));
      for (const name of classes) head.appendChild(make("th", name));
      classes.forEach((name, k) => {
        const line = table.appendChild(make("tr"));
        line.appendChild(make("th", name));
        classes.forEach((_, j) => line.appendChild(make("td")).appendChild(cell(k, j, ...pairs[k * classes.length + j].slice(2))));
      });
    } else {
      for (const [k, j, share] of pairs) {
        const line = table.appendChild(make("tr"));
        line.appendChild(make("th", classes[k] + " given as " + classes[j]));
        line.appendChild(make("td")).appendChild(cell(k, j, share));
      }
    }
    box.appendChild(table);
  };
  const histogram = () => {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 400 150");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "numbers of labels by trust, from 0 to 1");
    const counts = data.histogram;
    const sorted = [...counts].sort((a, b) => b - a);
    const top = Math.max(1, Math.min(sorted[0], 3 * (sorted[3] || sorted[0])));
    counts.forEach((count, b) => {
      const bar = document.createElementNS(space, "rect");
      const height = count ? Math.max(1.5, 115 * Math.min(1, count / top)) : 0;
      bar.setAttribute("x", String(b * 400 / counts.length + 1));
      bar.setAttribute("width", String(400 / counts.length - 2));
      bar.setAttribute("y", String(125 - height));
      bar.setAttribute("height", String(height));
      const title = document.createElementNS(space, "title");
      title.textContent = count + " labels with trust from " + (b / counts.length).toFixed(2) + " to " + ((b + 1) / counts.length).toFixed(2);
      bar.appendChild(title);
      svg.appendChild(bar);
    });
    for (const [x, text, anchor] of [[2, "0", "start"], [200, "0.5", "middle"], [398, "1", "end"]]) {
      const label = document.createElementNS(space, "text");
      label.setAttribute("x", String(x)); label.setAttribute("y", "143"); label.setAttribute("text-anchor", anchor);
      label.textContent = text;
      svg.appendChild(label);
    }
    $("histogram").appendChild(svg);
  };

  // ------------------------------------------------------------------------------ export
  const quoted = (value) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  // A spreadsheet would take such a text for a formula; `htsvm audit apply` takes the mark away.
  const safe = (value) => {
    const text = String(value);
    return /^'*[=+\-@\t\r]/.test(text) && !/^[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?$/.test(text) ? "'" + text : text;
  };
  const corrections = () => {
    const lines = ["row,id,given_label,decision,new_label,key,label_column,id_column,table"];
    const done = [...decisions].sort(([a], [b]) => rows.row[a] - rows.row[b]);
    for (const [i, [kind, label]] of done) {
      const fresh = kind === "unsure" ? "" : classes[label];
      lines.push([rows.number[i], rows.id[i], classes[rows.given[i]], kind, fresh, rows.key[i], data.label, data.idColumn, data.mark].map(safe).map(quoted).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  };
  const save = () => {
    const link = make("a");
    link.href = URL.createObjectURL(new Blob([corrections()], { type: "text/csv" }));
    link.download = "corrections.csv";
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unkept = false;
    say(decisions.size + " decisions written to corrections.csv" + (elsewhere.length ? "; for the others audit with --all" : ""));
  };

  // -------------------------------------------------------------------------------- keys
  const own = () => (current < 0 ? null : view[current]);
  const keep = () => { if (own() !== null) decide("keep", rows.given[own()]); };
  const accept = () => {
    const i = own();
    if (i === null) return;
    if (rows.suggested[i] === rows.given[i]) say("The suggestion is the given label: keep it, or choose another.");
    else decide("accept", rows.suggested[i]);
  };
  const page = () => Math.max(1, Math.floor($("list").clientHeight / HEIGHT) - 1);
  const keys = {
    k: keep, a: accept, u: () => decide("unsure", -1), z: undo, e: save,
    o: () => { $("other").focus(); if ($("other").showPicker) try { $("other").showPicker(); } catch (error) { /* needs a click in some browsers */ } },
    j: () => select(current + 1), ArrowDown: () => select(current + 1),
    i: () => select(current - 1), ArrowUp: () => select(current - 1),
    PageDown: () => select(current + page()), PageUp: () => select(current - page()),
    Home: () => select(0), End: () => select(view.length - 1),
  };
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest("select, input");
    if (event.key === "Escape" && field) { $("list").focus(); return; }
    if (field || event.ctrlKey || event.metaKey || event.altKey) return;
    const inButton = event.target.closest("button, summary") && [" ", "Enter"].includes(event.key);
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || inButton) return;
    event.preventDefault();
    action();
  });
  for (const [id, action] of [["keep", keep], ["accept", accept], ["unsure", keys.u], ["undo", undo], ["export", save]]) {
    $(id).addEventListener("click", action);
  }
  $("other").addEventListener("change", () => {
    const label = $("other").value;
    if (label !== "" && own() !== null) { decide(+label === rows.given[own()] ? "keep" : "other", +label); $("list").focus(); }
  });

  // ------------------------------------------------------------------------------- start
  const options = (id, first) => {
    $(id).appendChild(make("option", first)).value = "";
    classes.forEach((name, k) => { $(id).appendChild(make("option", name)).value = String(k); });
  };
  options("given", "any"); options("suggested", "any"); options("other", "choose …");
  for (const id of ["given", "suggested", "below", "status", "order"]) $(id).addEventListener("input", () => refresh(true));
  $("list").addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  window.addEventListener("resize", draw);
  $("title").textContent = "Labels of " + data.name;
  document.title = $("title").textContent;
  $("summary").textContent = data.summary;
  for (const text of data.findings) $("findings").appendChild(make("li", text));
  if (!data.findings.length) $("findings").appendChild(make("li", "nothing"));
  load(); matrix(); histogram(); refresh(true);
  $("list").focus({ preventScroll: true });
  window.htsvmAudit = { corrections, reviewed, decisions: () => decisions.size, shown: () => view.length };
})();
