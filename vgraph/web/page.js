// Everything that came out of a video is shown as text, never as HTML.
"use strict";

const by = (id) => document.getElementById(id);
const zones = new Map();

function headers() {
  const token = by("token").value || sessionStorage.getItem("token") || "";
  return token ? { Authorization: `Bearer ${token}` } : {};
}

async function call(path, body) {
  const options = body ? { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers() } } : { headers: headers() };
  const response = await fetch(path, options);
  if (response.status === 401) by("token-label").hidden = false;
  const value = await response.json();
  if (!response.ok) throw new Error(value.error || response.statusText);
  return value;
}

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function wall(ms, camera) {
  return new Date(ms).toLocaleString(undefined, { timeZone: zones.get(camera) || "UTC", timeZoneName: "short" });
}

function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((n, i) => (i ? String(n).padStart(2, "0") : n)).join(":");
}

async function picture(asset) {
  const response = await fetch(`/frames/${asset}`, { headers: headers() });
  if (!response.ok) return null;
  const image = element("img");
  image.alt = "the frame nearest the middle of the cited stretch";
  image.src = URL.createObjectURL(await response.blob());
  return image;
}

async function showCitation(citation, into) {
  const span = `${clock(citation.offset_ms)} to ${clock(citation.end_offset_ms)}`;
  const when = citation.clock_known ? wall(citation.start_ms, citation.camera) : "time unknown";
  const where = `camera ${citation.camera_label}, ${when}, ${citation.uri} at ${span}`;
  into.append(element("div", where, "citation"));
  const image = citation.frame && (await picture(citation.frame));
  if (image) into.append(image);
}

async function showAnswer(answer) {
  const into = by("answer");
  into.replaceChildren(element("p", `${answer.status.replace("_", " ")} (${answer.method})`, "status"));
  if (!answer.claims.length) into.append(element("p", answer.text, "claim none"));
  for (const claim of answer.claims) {
    const block = element("div", claim.text, "claim");
    into.append(block);
    for (const citation of claim.citations) await showCitation(citation, block);
  }
  for (const warning of answer.warnings) into.append(element("p", warning, "error"));
}

async function ask(event) {
  event.preventDefault();
  if (by("token").value) sessionStorage.setItem("token", by("token").value);
  by("answer").replaceChildren(element("p", "…"));
  const query = { question: by("question").value };
  if (by("camera").value) query.cameras = [by("camera").value];
  for (const side of ["start", "end"]) if (by(side).value) query[side] = by(side).value;
  try {
    await showAnswer(await call("/ask", query));
  } catch (error) {
    by("answer").replaceChildren(element("p", error.message, "error"));
  }
}

async function load() {
  const health = await (await fetch("/health")).json();
  by("state").textContent = `version ${health.version}, ArangoDB ${health.arangodb}`;
  for (const camera of await call("/cameras")) {
    zones.set(camera._key, camera.tz);
    const option = element("option", camera.label);
    option.value = camera._key;
    by("camera").append(option);
  }
  for (const document_ of await call("/documents")) {
    const start = document_.start_source === "unknown" ? "unknown" : wall(document_.start_ms, document_.camera);
    const row = element("tr");
    for (const cell of [document_.title, document_.camera_label, start, clock(document_.duration_ms), document_.chunks, document_.state]) row.append(element("td", cell));
    by("documents").append(row);
  }
}

by("form").addEventListener("submit", ask);
by("token").addEventListener("change", () => { sessionStorage.setItem("token", by("token").value); load().catch(() => {}); });
load().catch((error) => { by("state").textContent = error.message; });
