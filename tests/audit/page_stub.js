// Runs the script of a review page without a browser: elements that only remember what they are told.
// Arguments: the page, and a JSON list of the right classes of all rows. Prints what a review shows.
const fs = require("fs"), path = require("path"), vm = require("vm");
const html = fs.readFileSync(process.argv[2], "utf8");
const truth = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));
const element = () => ({
  children: [], style: { setProperty() {} }, classList: { toggle() {} }, value: "", textContent: "",
  clientHeight: 400, scrollTop: 0, setAttribute() {}, addEventListener() {}, focus() {},
  appendChild(child) { this.children.push(child); return child; },
  replaceChildren() { this.children = []; },
});
const known = {};
const document = {
  getElementById: (id) => known[id] || (known[id] = element()),
  createElement: element, createElementNS: element, addEventListener() {},
};
document.getElementById("data").textContent = html.split('id="data">')[1].split("</script>")[0];
document.getElementById("status").value = "open";
document.getElementById("order").value = "review";
document.getElementById("below").value = "1";
const store = {};
const localStorage = {
  getItem: (name) => store[name] ?? null, setItem: (name, value) => { store[name] = value; },
};
const context = {
  document, localStorage, window: { addEventListener() {} }, setTimeout: (call) => call(),
  clearTimeout() {}, requestAnimationFrame: (call) => call(),
};
const folder = path.join(process.argv[4], "");
const script = ["review.js", "page.js"].map((name) => fs.readFileSync(path.join(folder, name), "utf8")).join("");
const inside = "window.inside = { rows, data, view: () => view, current: () => current, decide };\n  window.htsvmAudit = {";
vm.runInNewContext(script.replace("window.htsvmAudit = {", inside), context);
const { rows, data, view, current, decide } = context.window.inside;
const before = known.wrong.textContent, asked = [];
for (let step = 0; step < data.first.length; step++) {
  const i = view()[current()], right = truth[rows.row[i]];
  asked.push(i);
  decide(right === rows.given[i] ? "keep" : "other", right);
}
console.log(JSON.stringify({
  before, after: known.wrong.textContent, asked, first: data.first, rows: rows.row, trust: rows.trust,
  next: rows.row[view()[current()]], lines: context.window.htsvmAudit.corrections().split("\r\n").length,
}));
