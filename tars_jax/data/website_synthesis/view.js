// What a page offers to whoever uses it: its controls, links and tables, with their places. For synthesis alone.
(() => {
  'use strict';
  const MOST = 400, LONGEST = 160, ROWS = 40;
  const CONTROLS = 'a[href], button, input, textarea, select, [role=button], [role=menuitem], [role=tab], ' +
    '[contenteditable=""], [contenteditable=true], .CodeMirror, [onclick], summary';
  const LISTED = 'tr, li, [role=row], [role=article], article, .row, .item, .card';
  const ENTRY = 'tr, [role=row], [role=article], article, .card';
  const clean = (text) => (text ?? '').replace(/\s+/g, ' ').trim().slice(0, LONGEST);
  const forms = [...document.forms];

  function isShown(element) {
    if (!element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) return false;
    const { width, height } = element.getBoundingClientRect();
    return width > 2 && height > 2;
  }
  const CASES = { uppercase: (text) => text.toUpperCase(), lowercase: (text) => text.toLowerCase() };
  // The text of an element as it is seen: parts that stand apart have a space between them, though no sign is there.
  function seenText(element) {
    if (!element.firstElementChild) return element.innerText;
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange();
    let found = '', last = null;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const style = getComputedStyle(node.parentElement);
      range.selectNodeContents(node);
      const boxes = [...range.getClientRects()].filter(({ width }) => width > 0);
      if (!boxes.length || style.visibility === 'hidden') { found += node.nodeValue.trim() ? '' : ' '; continue; }
      const first = boxes[0], gap = parseFloat(style.fontSize) / 8;
      if (last && (first.left > last.right + gap || first.right < last.left - gap || first.top >= last.bottom || first.bottom <= last.top)) found += ' ';
      found += (CASES[style.textTransform] ?? ((text) => text))(node.nodeValue);
      last = boxes.at(-1);
    }
    return found;
  }
  // Whether it is in sight or can be scrolled to: dialogs often wait above or beside the page.
  function isReachable(element, { x, y }) {
    if (x >= 0 && y >= 0 && x < innerWidth && y < innerHeight) return true;
    if (x + scrollX < 0 || y + scrollY < 0) return false;
    for (let node = element; node; node = node.parentElement) if (getComputedStyle(node).position === 'fixed') return false;
    return true;
  }
  // Rules that show something while the mouse is over what holds it: [what it must be over, what is shown then].
  let pointing = null;
  function pointingRules() {
    const found = new Map();
    const read = (rules) => {
      for (const rule of rules) {
        if (rule.selectorText === undefined) { if (rule.cssRules) read(rule.cssRules); continue; }
        if (!rule.selectorText.includes(':hover')) continue;
        if (rule.style.visibility !== 'visible' && !(Number(rule.style.opacity) > 0)) continue;
        for (const part of rule.selectorText.split(/,(?![^(]*\))/)) {
          const [over, shown] = [part.split(':hover')[0].trim(), part.replaceAll(':hover', '').trim()];
          if (over && part.includes(':hover')) found.set(shown, over);
        }
      }
    };
    for (const sheet of document.styleSheets) {
      try { read(sheet.cssRules); } catch { /* of another host */ }
    }
    return [...found];
  }
  // What the mouse must be over for an element to be seen that is laid out and invisible; null: nothing shows it.
  function shownOver(element) {
    pointing ??= pointingRules();
    for (const [shown, over] of pointing) {
      try {
        const holder = element.closest(shown)?.closest(over);
        if (holder) return holder;
      } catch { /* a selector that only its own sheet can say */ }
    }
    return null;
  }
  // Where a click meets the element, in pixels of the viewport: a link may be broken over lines.
  function placeOf(element) {
    const box = [...element.getClientRects()].find(({ width, height }) => width > 2 && height > 2);
    if (!box) return box;
    const top = box.height > innerHeight ? Math.min(Math.max(box.y, 0), box.bottom - innerHeight / 2) : box.y; // of a long text what is in sight
    return { x: box.x + box.width / 2, y: top + Math.min(box.height, innerHeight / 2) / 2 };
  }
  // The frame of this site that an element is drawn in, and where that begins; editors often have one.
  const frameOf = (element) => element.ownerDocument === document ? null : element.ownerDocument.defaultView.frameElement;
  function beginOf(frame) {
    const { x, y } = frame?.getBoundingClientRect() ?? { x: 0, y: 0 };
    return { x: x + (frame?.clientLeft ?? 0), y: y + (frame?.clientTop ?? 0) };
  }
  function isHit(element, { x, y }, holder) {
    const frame = frameOf(element), begin = beginOf(frame);
    const [left, above] = [x + begin.x, y + begin.y];
    if (left < 0 || above < 0 || left >= innerWidth || above >= innerHeight) return null; // only known once it is scrolled to
    if (frame && document.elementFromPoint(left, above) !== frame) return false;
    const top = element.ownerDocument.elementFromPoint(x, y);
    if (holder) return top !== null && holder.contains(top); // a mouse that comes here is over what shows it
    const labels = [...(element.labels ?? [])];
    return top !== null && (element.contains(top) || top.contains(element) && top.closest('a, button, label') === null ||
      labels.some((label) => label.contains(top)));
  }
  // The text of an element without that of the controls in it.
  function ownText(element) {
    const copy = element.cloneNode(true);
    copy.querySelectorAll('input, textarea, select, button, script, style, datalist').forEach((each) => each.remove());
    return clean(copy.textContent).replace(/[:*\s]+$/, '');
  }
  function textAround(element, side) {
    for (let node = element[side]; node; node = node[side]) {
      if (node.nodeType === 1 && node.matches('input, textarea, select, button, h1')) return '';
      if (node.nodeType === 1 && node.ariaHidden === 'true') continue; // such as the numbers of an editor's lines
      const text = node.nodeType === 1 ? (isShown(node) ? ownText(node) : '') : node.nodeType === 3 ? clean(node.nodeValue) : '';
      if (text) return text.length <= 80 ? text.replace(/[:*\s]+$/, '') : '';
    }
    return '';
  }
  function cellBefore(element) {
    const cell = element.closest('td, dd');
    const before = cell?.previousElementSibling;
    return before && !before.querySelector('input, textarea, select') ? ownText(before) : '';
  }
  const namedBy = (element) => (element?.getAttribute('aria-labelledby') ?? '').split(/\s+/).map((id) => id && document.getElementById(id));
  // An editor is no field that a label could be for: the part of the page that it stands in may have a name.
  function partOf(element) {
    const part = element.isContentEditable ? element.closest('section, fieldset, [role=group], [role=region]') : null;
    return [...namedBy(part).filter(Boolean), ...(part?.querySelectorAll('legend, h2, h3') ?? [])].filter(isShown).map(ownText);
  }
  function labelOf(element) {
    const named = namedBy(element);
    const mark = element.matches('[type=checkbox], [type=radio]');
    const found = [
      ...[...(element.labels ?? [])].filter(isShown).map(ownText),
      ...named.filter(Boolean).map(ownText),
      ...(mark ? [textAround(element, 'nextSibling')] : []),
      textAround(element, 'previousSibling'),
      cellBefore(element),
      element.parentElement?.matches('td, th, form, body') ? '' : textAround(element.parentElement ?? element, 'previousSibling'),
      ...partOf(element), clean(element.getAttribute('placeholder')), clean(element.getAttribute('aria-label')), clean(element.title),
    ];
    return (found.find((text) => text) ?? '').replace(/"/g, '').replace(/[:*.\s]+$/, '');
  }
  function kindOf(element) {
    const name = element.localName;
    if (element.matches('.CodeMirror, [contenteditable=""], [contenteditable=true]')) return 'editor';
    if (name === 'a' && element.hasAttribute('href') && !/^\s*(#|javascript:|$)/.test(element.getAttribute('href'))) return 'link';
    if (name === 'textarea') return 'textarea';
    if (name === 'select') return element.multiple ? 'multiple' : 'select';
    if (name !== 'input') return 'button';
    return ['submit', 'button', 'image', 'reset'].includes(element.type) ? 'button' : element.type;
  }
  function captionOf(element) {
    const text = element.localName === 'input' ? element.value : isShown(element) ? seenText(element) : element.textContent;
    const names = [text, element.getAttribute('aria-label'), element.title, element.alt, element.querySelector?.('img[alt]')?.alt].map(clean);
    return names.find((name) => /[\p{L}\p{N}]/u.test(name)) ?? names.find(Boolean) ?? ''; // a sign alone is no name
  }
  const FIELDS = 'input:not([type=checkbox], [type=radio], [type=hidden]), textarea, select';
  // What holds a field and no other, step by step outwards.
  function* aroundField(element) {
    for (let node = element; node && !node.matches('form, body, tr, fieldset') && node.querySelectorAll(FIELDS).length <= 1; node = node.parentElement) yield node;
  }
  // What the page says of a field beside its name: what it takes, and that it is needed.
  function hintOf(element) {
    const told = (element.getAttribute('aria-describedby') ?? '').split(/\s+/).map((id) => id && document.getElementById(id)).filter(Boolean);
    for (const node of aroundField(element)) {
      for (let next = node.nextElementSibling; next && !next.matches(FIELDS) && !next.querySelector(FIELDS); next = next.nextElementSibling) {
        if (next.matches('small, [class*=help], [class*=hint], [class*=description], [class*=form-text]')) told.push(next);
      }
    }
    const texts = told.filter(isShown).map(ownText);
    const heads = [...(element.labels ?? []), element.closest('td, dd')?.previousElementSibling].filter(Boolean);
    if (heads.some((head) => head.matches('.required') || /\*\s*:?\s*$/.test(head.textContent))) texts.push('required');
    return clean([...texts, element.getAttribute('placeholder') ?? ''].join(' '));
  }
  // What the page says against what stands in a field; empty: nothing.
  function refusalOf(element) {
    const REFUSED = '[aria-invalid=true], .is-invalid, .invalid, .has-error, .error, .is-danger';
    const said = element.willValidate && !element.validity.valid ? element.validationMessage : '';
    for (const node of aroundField(element)) {
      const texts = [...node.querySelectorAll('.invalid-feedback, .error, .errors, .errorlist, .error-message, [role=alert]')];
      const shown = texts.filter((each) => isShown(each) && !each.matches(FIELDS)).map(ownText).find(Boolean);
      if (shown) return shown;
      if (node.matches(REFUSED)) return said || 'refused';
    }
    return clean(said);
  }
  const isPassing = (text) => /^[0-9a-f]{8,}$/i.test(text) || /\b\d\d:\d\d\b|\b(just now|ago|today|yesterday)\b/i.test(text);
  const longestFirst = (texts) => texts.toSorted((one, other) => other.length - one.length);
  // What may tell the row of a list from the others, the best first: the texts in it that are not the control's own.
  // Hashes and times of day are others wherever the site is set up anew.
  function rowOf(element) {
    const own = clean(element.innerText);
    let texts = [], row;
    for (row = element.closest(LISTED); row && !texts.length; row = row.parentElement?.closest(ENTRY)) {
      const cells = [...row.querySelectorAll('td, th, a, h2, h3, h4, span')].filter((each) => !each.contains(element));
      texts = cells.map((each) => clean(each.innerText)).filter((text) => /\w/.test(text) && text.length <= 80 && text !== own);
    } // a list of signs alone tells nothing: what holds it does
    const lasting = longestFirst(texts.filter((text) => !isPassing(text)));
    return { place: element.closest(LISTED), texts: [...(texts[0] && !isPassing(texts[0]) ? [texts[0]] : []), ...lasting] };
  }
  // The lines of a button that is an entry of a list by itself; none: it is no such button.
  function linesOf(element) {
    const lines = (element.innerText ?? '').split('\n').map(clean).filter((line) => /\p{L}{3}/u.test(line) && line.length <= 80);
    return lines.length >= 3 ? longestFirst(lines.filter((line) => !isPassing(line))) : [];
  }
  function hrefOf(link) { // of a drawing's links, too
    const text = link.getAttribute('href');
    return URL.canParse(text, document.baseURI) ? new URL(text, document.baseURI).href : '';
  }
  // A link to another part of the same page, which no script has made anything else of.
  const isJump = (element) => element.matches('a[href^="#"]:not([role], [onclick], [data-toggle], [data-bs-toggle])') &&
    document.getElementById(element.getAttribute('href').slice(1)) !== null;
  function controlOf(element) {
    if (isJump(element)) return null;
    const kind = kindOf(element), place = placeOf(element);
    const holder = place && !isShown(element) ? shownOver(element) : null;
    if (kind === 'hidden' || !place || !isReachable(element, place) || !(isShown(element) || holder) || (element.disabled && kind !== 'button') || element.closest('.CodeMirror') !== (kind === 'editor' && element.matches('.CodeMirror') ? element : null)) return null;
    const isPressed = kind === 'link' || kind === 'button', frame = frameOf(element), begin = beginOf(frame);
    const form = element.form ?? (frame ?? element).closest('form');
    const options = kind === 'select' ? [...element.options].filter((each) => !each.disabled && !each.hidden).map((each) => clean(each.label)) : [];
    const value = kind === 'select' ? clean(element.selectedOptions[0]?.label) : kind === 'editor' ? clean(element.innerText) : isPressed ? '' : element.value;
    return {
      kind, label: isPressed ? captionOf(element) : labelOf(element), name: element.getAttribute('name') ?? '',
      disabled: element.disabled ?? false, hint: isPressed ? '' : hintOf(element), refused: isPressed ? '' : refusalOf(element),
      id: element.id, form: form ? forms.indexOf(form) : -1, value: String(value ?? '').slice(0, 4000),
      checked: element.checked ?? false, required: element.required ?? false, read_only: element.readOnly ?? false,
      options, type: typeof element.type === 'string' ? element.type : '', low: element.min ?? '', high: element.max ?? '', longest: element.maxLength ?? -1,
      href: kind === 'link' ? hrefOf(element) : '', row: isPressed ? rowOf(element) : '', lines: kind === 'button' ? linesOf(element) : [], target: element.getAttribute('target') ?? '',
      around: (frame ?? element).closest('nav, header, footer, aside, [role=navigation]') ? 'frame' : 'content',
      x: place.x + begin.x, y: place.y + begin.y, hit: isHit(element, place, holder), pointed: holder !== null,
    };
  }
  const frames = [...document.querySelectorAll('iframe')].filter(isShown).map((frame) => frame.contentDocument).filter(Boolean);
  const controls = [document, ...frames].flatMap((each) => [...each.querySelectorAll(CONTROLS)]).slice(0, 4 * MOST).map(controlOf).filter(Boolean).slice(0, MOST);
  // An entry is called by what no other one says, and so is a row, where there are several of the same button or link.
  const entries = controls.filter(({ lines }) => lines.length);
  for (const each of entries) {
    const others = entries.filter((other) => other !== each);
    const own = each.lines.find((line) => !others.some(({ lines }) => lines.includes(line)));
    [each.label, each.entry] = [own ?? each.label, own !== undefined];
  }
  const named = controls.map(({ kind, label, href, row }) => ({ kind, label, href, row }));
  for (const each of controls) {
    const others = named.filter(({ kind, label, href, row }) => row && each.row && kind === each.kind && label === each.label &&
      row.place !== each.row.place && !(href && href === each.href));
    each.row = each.row && (each.row.texts.find((text) => !others.some(({ row }) => row.texts.includes(text))) ?? each.row.texts[0] ?? '');
  }
  controls.forEach((each) => delete each.lines);
  const long = controls.filter(({ kind }) => kind === 'textarea' || kind === 'editor');
  if (long.length === 1 && !long[0].label) long[0].label = 'text'; // the only place for one needs no other name
  const tables = [...document.querySelectorAll('table')].filter(isShown).slice(0, 8).map((table) => {
    const rows = [...table.rows].slice(0, ROWS);
    const heads = rows.findIndex((row) => row.querySelector('th') && !row.querySelector('td'));
    return {
      headers: heads < 0 ? [] : [...rows[heads].cells].map((cell) => clean(seenText(cell))),
      rows: rows.filter((_, index) => index > heads).map((row) => [...row.cells].map((cell) => clean(seenText(cell)))),
    };
  });
  const asked = new Set(controls.filter(({ kind }) => kind !== 'link' && kind !== 'button').map(({ label }) => label));
  const isHeading = (text) => text && !asked.has(text.replace(/[:*\s]+$/, '')); // and no label of a field
  return {
    url: location.href, title: clean(document.title), text: (document.body?.innerText ?? '').slice(0, 6000),
    headings: [...document.querySelectorAll('h1, h2, legend')].filter(isShown).map((each) => clean(seenText(each))).filter(isHeading).slice(0, 12),
    forms: forms.map((form) => ({ // a field may be called action
      method: (form.getAttribute('method') ?? 'get').toLowerCase(),
      action: new URL(form.getAttribute('action') || location.href, document.baseURI).href,
    })),
    alerts: [...document.querySelectorAll('[role=alert], .alert, .flash, .error, .errors, .message, .messages, .warning, .system-message')]
      .filter(isShown).map((each) => clean(each.innerText)).filter(Boolean).slice(0, 6),
    controls, tables, canvas_share: Math.max(0, ...[...document.querySelectorAll('canvas')].filter(isShown).map(({ width, height }) => width * height)) / (innerWidth * innerHeight),
    width: innerWidth, height: innerHeight, scrolled: scrollY, page_height: document.documentElement.scrollHeight,
  };
})()
