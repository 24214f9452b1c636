// What a page offers to whoever uses it: its controls, links and tables, with their places. For synthesis alone.
(() => {
  'use strict';
  const MOST = 400, LONGEST = 160, ROWS = 40;
  const CONTROLS = 'a[href], button, input, textarea, select, [role=button], [role=menuitem], [role=tab], ' +
    '[contenteditable=""], [contenteditable=true], .CodeMirror, [onclick], summary';
  const clean = (text) => (text ?? '').replace(/\s+/g, ' ').trim().slice(0, LONGEST);
  const forms = [...document.forms];

  function isShown(element) {
    if (!element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) return false;
    const { width, height } = element.getBoundingClientRect();
    return width > 2 && height > 2;
  }
  // Where a click meets the element, in pixels of the viewport: a link may be broken over lines.
  function placeOf(element) {
    const box = [...element.getClientRects()].find(({ width, height }) => width > 2 && height > 2);
    return box && { x: box.x + box.width / 2, y: box.y + Math.min(box.height, innerHeight / 2) / 2 };
  }
  function isHit(element, { x, y }) {
    if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return null; // only known once it is scrolled to
    const top = document.elementFromPoint(x, y);
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
      if (node.nodeType === 1 && node.matches('input, textarea, select, button')) return '';
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
  function labelOf(element) {
    const named = (element.getAttribute('aria-labelledby') ?? '').split(/\s+/).map((id) => id && document.getElementById(id));
    const mark = element.matches('[type=checkbox], [type=radio]');
    const found = [
      ...[...(element.labels ?? [])].filter(isShown).map(ownText),
      ...named.filter(Boolean).map(ownText),
      ...(mark ? [textAround(element, 'nextSibling')] : []),
      textAround(element, 'previousSibling'),
      cellBefore(element),
      element.parentElement?.matches('td, th, form, body') ? '' : textAround(element.parentElement ?? element, 'previousSibling'),
      clean(element.getAttribute('placeholder')), clean(element.getAttribute('aria-label')), clean(element.title),
    ];
    return (found.find((text) => text) ?? '').replace(/"/g, '').replace(/[:*.\s]+$/, '');
  }
  function kindOf(element) {
    const name = element.localName;
    if (element.matches('.CodeMirror, [contenteditable=""], [contenteditable=true]')) return 'editor';
    if (name === 'a' && element.hasAttribute('href') && !/^(#|javascript:)/.test(element.getAttribute('href'))) return 'link';
    if (name === 'textarea') return 'textarea';
    if (name === 'select') return element.multiple ? 'multiple' : 'select';
    if (name !== 'input') return 'button';
    return ['submit', 'button', 'image', 'reset'].includes(element.type) ? 'button' : element.type;
  }
  function captionOf(element) {
    const text = element.localName === 'input' ? element.value : element.innerText;
    return clean(text) || clean(element.getAttribute('aria-label')) || clean(element.title) || clean(element.alt) ||
      clean(element.querySelector?.('img[alt]')?.alt);
  }
  const isPassing = (text) => /^[0-9a-f]{8,}$/i.test(text) || /\b\d\d:\d\d\b/.test(text);
  // What tells the row of a list from the others: the first text in it that is not the control's own,
  // or the longest where that is a hash or the time of day: another one wherever the site is set up anew.
  function rowOf(element) {
    const row = element.closest('tr, li, [role=row], article, .row, .item, .card');
    const cells = row ? [...row.querySelectorAll('td, th, a, h2, h3, h4, span')].filter((each) => !each.contains(element)) : [];
    const own = clean(element.innerText);
    const texts = cells.map((each) => clean(each.innerText)).filter((text) => /\w/.test(text) && text.length <= 80 && text !== own);
    const lasting = texts.filter((text) => !isPassing(text)).sort((one, other) => other.length - one.length);
    return (texts[0] && isPassing(texts[0]) ? lasting[0] : texts[0]) ?? '';
  }
  function hrefOf(link) { // of a drawing's links, too
    const text = link.getAttribute('href');
    return URL.canParse(text, document.baseURI) ? new URL(text, document.baseURI).href : '';
  }
  function controlOf(element) {
    const kind = kindOf(element), place = placeOf(element);
    if (kind === 'hidden' || !place || !isShown(element) || element.disabled || element.closest('.CodeMirror') !== (kind === 'editor' && element.matches('.CodeMirror') ? element : null)) return null;
    const isPressed = kind === 'link' || kind === 'button';
    const form = element.form ?? element.closest('form');
    const options = kind === 'select' ? [...element.options].filter((each) => !each.disabled && !each.hidden).map((each) => clean(each.label)) : [];
    const value = kind === 'select' ? clean(element.selectedOptions[0]?.label) : kind === 'editor' ? clean(element.innerText) : isPressed ? '' : element.value;
    return {
      kind, label: isPressed ? captionOf(element) : labelOf(element), name: element.getAttribute('name') ?? '',
      id: element.id, form: form ? forms.indexOf(form) : -1, value: String(value ?? '').slice(0, 4000),
      checked: element.checked ?? false, required: element.required ?? false, read_only: element.readOnly ?? false,
      options, type: typeof element.type === 'string' ? element.type : '', low: element.min ?? '', high: element.max ?? '', longest: element.maxLength ?? -1,
      href: kind === 'link' ? hrefOf(element) : '', row: isPressed ? rowOf(element) : '', target: element.getAttribute('target') ?? '',
      around: element.closest('nav, header, footer, aside, [role=navigation]') ? 'frame' : 'content',
      x: place.x, y: place.y, hit: isHit(element, place),
    };
  }
  const controls = [...document.querySelectorAll(CONTROLS)].slice(0, 4 * MOST).map(controlOf).filter(Boolean).slice(0, MOST);
  const long = controls.filter(({ kind }) => kind === 'textarea' || kind === 'editor');
  if (long.length === 1 && !long[0].label) long[0].label = 'text'; // the only place for one needs no other name
  const tables = [...document.querySelectorAll('table')].filter(isShown).slice(0, 8).map((table) => {
    const rows = [...table.rows].slice(0, ROWS);
    const heads = rows.findIndex((row) => row.querySelector('th') && !row.querySelector('td'));
    return {
      headers: heads < 0 ? [] : [...rows[heads].cells].map((cell) => clean(cell.innerText)),
      rows: rows.filter((_, index) => index > heads).map((row) => [...row.cells].map((cell) => clean(cell.innerText))),
    };
  });
  return {
    url: location.href, title: clean(document.title), text: (document.body?.innerText ?? '').slice(0, 6000),
    headings: [...document.querySelectorAll('h1, h2, legend')].filter(isShown).map((each) => clean(each.innerText)).filter(Boolean).slice(0, 12),
    forms: forms.map((form) => ({ // a field may be called action
      method: (form.getAttribute('method') ?? 'get').toLowerCase(),
      action: new URL(form.getAttribute('action') || location.href, document.baseURI).href,
    })),
    controls, tables, canvas_share: Math.max(0, ...[...document.querySelectorAll('canvas')].filter(isShown).map(({ width, height }) => width * height)) / (innerWidth * innerHeight),
    width: innerWidth, height: innerHeight, scrolled: scrollY, page_height: document.documentElement.scrollHeight,
  };
})()
