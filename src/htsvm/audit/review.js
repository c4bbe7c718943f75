"use strict";
// How reviewed rows calibrate an audit, as in trust.py: a logistic curve whose coefficients are
// normal over data sets, moved to the reviewed rows by Laplace's method.
const htsvmReview = (() => {
  const expit = (x) => 1 / (1 + Math.exp(-x));
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  // A evidence is [min(m, 0), max(m, 0), z]; the first coefficient is the intercept.
  const full = (evidence) => [1, ...evidence];
  // Gaussian elimination with pivots: the solution of A x = b for several right sides, as columns.
  const solve = (A, B) => {
    const n = A.length, M = A.map((line, i) => [...line, ...B[i]]);
    for (let c = 0; c < n; c++) {
      let best = c;
      for (let r = c + 1; r < n; r++) if (Math.abs(M[r][c]) > Math.abs(M[best][c])) best = r;
      [M[c], M[best]] = [M[best], M[c]];
      for (let r = 0; r < n; r++) {
        if (r === c) continue;
        const part = M[r][c] / M[c][c];
        for (let j = c; j < M[r].length; j++) M[r][j] -= part * M[c][j];
      }
    }
    return M.map((line, i) => line.slice(n).map((value) => value / line[i]));
  };
  // rows: [evidence, right (0 or 1)] of reviewed rows; prior: mean and precision.
  const calibrate = (prior, rows) => {
    let b = [...prior.mean], H = prior.precision;
    for (let step = 0; step < 50; step++) {
      const slope = prior.precision.map((line) => -dot(line, b.map((value, i) => value - prior.mean[i])));
      H = prior.precision.map((line) => [...line]);
      for (const [evidence, right] of rows) {
        const f = full(evidence), p = expit(dot(f, b)), w = Math.max(p * (1 - p), 1e-6);
        for (let i = 0; i < f.length; i++) {
          slope[i] += f[i] * (right - p);
          for (let j = 0; j < f.length; j++) H[i][j] += w * f[i] * f[j];
        }
      }
      const move = solve(H, slope.map((value) => [value])).map(([value]) => value);
      const length = Math.hypot(...move), part = Math.min(1, 2 / Math.max(length, 1e-12));
      b = b.map((value, i) => value + part * move[i]);
      if (length < 1e-6) break;
    }
    return { mean: b, hessian: H, spotless: (prior.spotless !== false) && rows.every(([, right]) => right) };
  };
  const trust = (found, evidence) => expit(dot(found.mean, full(evidence)));
  // The share of wrong labels among `free` rows, of which a sample is given, and its range.
  const share = (found, sample, weights, free) => {
    const total = weights.reduce((sum, w) => sum + w, 0), slope = found.mean.map(() => 0);
    let mean = 0, chance = 0;
    sample.forEach((evidence, r) => {
      const f = full(evidence), p = trust(found, evidence), w = weights[r] / total;
      mean += w * (1 - p);
      chance += w * w * p * (1 - p);
      f.forEach((value, i) => { slope[i] += w * p * (1 - p) * value; });
    });
    chance = 1.645 * Math.sqrt(chance * sample.length / Math.max(free, 1));
    mean = Math.min(Math.max(mean, 1e-9), 1 - 1e-9);
    const moved = solve(found.hessian, slope.map((value) => [value])).map(([value]) => value);
    const spread = 1.645 * Math.sqrt(Math.max(dot(slope, moved), 0)) / (mean * (1 - mean)), middle = Math.log(mean / (1 - mean));
    const low = found.spotless ? 0 : Math.max(expit(middle - spread) - chance, 0);
    return [mean, low, Math.min(expit(middle + spread) + chance, 1)];
  };
  return { calibrate, trust, share };
})();
