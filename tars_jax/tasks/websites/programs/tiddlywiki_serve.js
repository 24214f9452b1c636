// Serves a TiddlyWiki as its own tiddlywiki.js does, and answers GET /every-tiddler.json: all that its server holds,
// those of the system, too, which its own list leaves out, and all fields. Long texts, as of plugins, as digests.
// node tiddlywiki_serve.js ROOT ARGUMENTS...

const crypto = require("crypto");
const [root, ...argv] = process.argv.slice(2);
const $tw = require(`${root}/node_modules/tiddlywiki/boot/boot.js`).TiddlyWiki();
const LONGEST = 10000;

function everyTiddler(request, response, state) {
  const all = [];
  state.wiki.each((tiddler) => all.push(tiddler.getFieldStrings()));
  for (const fields of all)
    if (fields.text && fields.text.length > LONGEST)
      fields.text = "sha256 " + crypto.createHash("sha256").update(fields.text).digest("hex");
  state.sendResponse(200, { "Content-Type": "application/json" }, JSON.stringify(all), "utf8");
}

$tw.modules.define("every-tiddler.js", "route", {
  methods: ["GET"], path: /^\/every-tiddler\.json$/, info: { priority: 200 }, handler: everyTiddler,
});
$tw.boot.argv = argv;
$tw.boot.boot();
