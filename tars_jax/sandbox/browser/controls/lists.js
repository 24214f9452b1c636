// Lists to choose from: of a select, and of what a field suggests.
(() => {
  'use strict';
  const { timeline, listen, controls } = self.__clock;
  const { surface } = timeline;
  const { instead, targetOf, focused, focus, tell } = controls;
  const MOST_ROWS = 20, ROW = 18; // as many as Chromium's, CSS pixels
  const TYPE_AHEAD_MS = 1_000;
  const STYLE = `.row { height: ${ROW}px; padding: 0 4px; display: flex; justify-content: space-between; gap: 16px }
    .row.group { font-weight: bold } .row.inner { padding-inline-start: 24px } .note { color: #666 }
    hr { margin: 4px 0; height: 1px; border: 0; background: #767676 }`;

  // `rows`: {label, note?, off?, group?, inner?, line?}, those that are none of the last three can be chosen.
  function listOf({ rows, at, rtl = false, choose, ...more }) {
    let list = null, elements = [];
    const free = (row) => row && !row.group && !row.line && !row.off;
    function show(index, scroll = true) {
      elements[at]?.classList.remove('on');
      at = index;
      elements[at]?.classList.add('on');
      if (scroll) elements[at]?.scrollIntoView({ block: 'nearest' });
    }
    function step(from, by, count = 1) {
      let found = at;
      for (let index = from + by; index >= 0 && index < rows.length && count > 0; index += by) {
        if (free(rows[index])) { found = index; count -= 1; }
      }
      return found;
    }
    const page = () => Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    return {
      asWide: true, highest: MOST_ROWS * ROW + 2, style: STYLE, ...more,
      build(main, make) {
        list = main;
        if (rtl) main.dir = 'rtl';
        elements = rows.map(({ label, note, off, group, inner, line }, index) => {
          if (line) return make('hr');
          const kind = ['row', off && 'off', group && 'group', inner && 'inner'].filter(Boolean).join(' ');
          const texts = [make('span', { textContent: label }), ...(note ? [make('span', { className: 'note', textContent: note })] : [])];
          return make('div', { className: kind, at: index }, ...texts);
        });
        main.append(...elements);
        if (!rows.length) main.style.height = '8px';
      },
      placed() { show(at); },
      mouse(type, element, { button }) {
        const index = element ? Number(element.dataset.at) : -1;
        if (!free(rows[index])) return;
        if (type === 'mousemove' || type === 'mousedown') show(index, false);
        if (type === 'mouseup' && button === 0) choose(index, 'mouse');
      },
      key(event) {
        const { key, altKey } = event;
        if (key === 'Escape' || key === 'F4' || (altKey && /^Arrow(Up|Down)$/.test(key))) surface.close();
        else if (key === 'Enter' || key === 'Tab') free(rows[at]) ? choose(at, 'key') : surface.close();
        else if (key === 'ArrowDown' || key === 'ArrowRight') show(step(at, 1));
        else if (key === 'ArrowUp' || key === 'ArrowLeft') show(step(at < 0 ? rows.length : at, -1));
        else if (key === 'PageDown') show(step(at, 1, page()));
        else if (key === 'PageUp') show(step(at, -1, page()));
        else if (key === 'Home') show(step(-1, 1));
        else if (key === 'End') show(step(rows.length, -1));
        else more.typed?.(event, (index) => { if (free(rows[index])) show(index); }, at);
      },
    };
  }
  controls.listOf = listOf;

  // ---- typing ahead: as Blink does it, on virtual time ----
  timeline.typeAhead ??= { control: null, text: '', at: -Infinity };
  const typing = timeline.typeAhead;
  const isTyping = (select) => typing.control === select && timeline.past + timeline.now - typing.at < TYPE_AHEAD_MS;
  // The index after `from` whose label begins with what is being typed; one letter again and again goes round.
  function typeAhead(select, character, labels, from) {
    const text = (isTyping(select) ? typing.text : '') + character.toLowerCase();
    Object.assign(typing, { control: select, text, at: timeline.past + timeline.now });
    const again = [...text].every((letter) => letter === text[0]);
    const sought = again ? text[0] : text, start = Math.max(0, again ? from + 1 : from);
    for (let step = 0; step < labels.length; step++) {
      const index = (start + step) % labels.length;
      if (labels[index]?.toLowerCase().startsWith(sought)) return index;
    }
    return -1;
  }
  const isPrinted = ({ key, ctrlKey, altKey, metaKey }) => key.length === 1 && !ctrlKey && !altKey && !metaKey;

  // ---- select ----
  const selectedIndex = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'selectedIndex');
  const drawnByPage = (select) => getComputedStyle(select).appearance === 'base-select' &&
    getComputedStyle(select, '::picker(select)').appearance === 'base-select';
  const selectAt = (target) => {
    const select = target instanceof Element ? target.closest('select') : null;
    const isMenu = select && !select.matches(':disabled') && !select.multiple && select.size <= 1;
    return isMenu && !drawnByPage(select) ? select : null;
  };
  const textOf = (option) => option.label.replace(/\s+/g, ' ').trim();
  function choose(select, index) {
    if (selectedIndex.get.call(select) === index) return;
    selectedIndex.set.call(select, index);
    tell(select, 'input', 'change');
  }
  function rowsOf(select) {
    const rows = [], drawn = (one) => getComputedStyle(one).display !== 'none';
    let index = -1;
    function add(parent, group) {
      for (const child of parent.children) {
        const name = child.localName;
        if (name === 'option') {
          index += 1;
          const off = child.matches(':disabled') || (group?.disabled ?? false);
          if (drawn(child)) rows.push({ label: textOf(child), off, inner: group !== null, index });
        } else if (name === 'optgroup') {
          const shown = drawn(child), before = rows.length;
          rows.push({ label: child.label, group: true, off: child.disabled });
          add(child, child);
          if (!shown) rows.length = before;
        } else if (name === 'hr') {
          rows.push({ line: true });
        } else {
          add(child, group);
        }
      }
    }
    add(select, null);
    return rows;
  }
  function openSelect(select) {
    const rows = rowsOf(select), before = JSON.stringify(rows), chosen = selectedIndex.get.call(select);
    surface.open(select, listOf({
      rows, at: rows.findIndex(({ index }) => index === chosen), rtl: getComputedStyle(select).direction === 'rtl',
      stale: () => {
        if (JSON.stringify(rowsOf(select)) === before && selectedIndex.get.call(select) === chosen) return false;
        openSelect(select); // another list
        return false;
      },
      typed(event, show, at) {
        if (isPrinted(event)) show(typeAhead(select, event.key, rows.map(({ label, group }) => (group ? '' : label)), at));
      },
      choose(row, by) {
        surface.close();
        choose(select, rows[row].index);
        if (by !== 'mouse') return;
        const { left: clientX, top: clientY } = select.getBoundingClientRect(); // as the browser tells of such a choice
        for (const type of ['mouseup', 'click']) {
          select.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, composed: true, clientX, clientY,
            view: select.ownerDocument.defaultView }));
        }
      },
    }));
  }

  listen(self, 'mousedown', (event) => {
    const select = event.isTrusted && event.button === 0 ? selectAt(targetOf(event)) : null;
    if (!select) return;
    const wasOpen = controls.pressed === select;
    instead(event, () => {
      focus(select);
      if (!wasOpen && selectAt(select)) openSelect(select);
    });
  }, { capture: true, passive: false });
  listen(self, 'keydown', (event) => {
    const select = event.isTrusted ? selectAt(targetOf(event)) : null;
    const { key, altKey, ctrlKey } = event;
    const opens = altKey ? key === 'ArrowDown' || key === 'ArrowUp' : key === 'F4' && !ctrlKey;
    if (select && opens) instead(event, () => openSelect(select));
  }, true);
  listen(self, 'keypress', (event) => {
    const select = event.isTrusted ? selectAt(targetOf(event)) : null;
    if (!select) return;
    if (event.key === 'Enter' || (event.key === ' ' && !isTyping(select))) {
      instead(event, () => openSelect(select));
    } else if (isPrinted(event)) {
      instead(event, () => {
        const labels = [...select.options].map((one) => (one.matches(':disabled') ? null : textOf(one)));
        const index = typeAhead(select, event.key, labels, selectedIndex.get.call(select));
        if (index >= 0) choose(select, index);
      });
    }
  }, true);
  Object.assign(controls, { openSelect, isMenu: (select) => selectAt(select) === select });

  // ---- what a text field suggests ----
  const value = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  const TEXT = /^(text|search|url|tel|email|number)$/;
  const fieldAt = (target) => {
    const field = target instanceof HTMLInputElement && TEXT.test(target.type) ? target : null;
    return field?.list && !field.readOnly && !field.matches(':disabled') ? field : null;
  };
  function suggestionsOf(field) {
    const typed = value.get.call(field).toLowerCase();
    return [...field.list.options].filter((one) => !one.disabled && one.value !== '')
      .map((one) => ({ label: one.value, note: one.label !== one.value ? one.label : '' }))
      .filter(({ label, note }) => `${label}\n${note}`.toLowerCase().includes(typed));
  }
  function suggest(field) {
    const rows = suggestionsOf(field);
    if (!rows.length) { surface.close(); return; }
    let any = false; // a row is marked
    const list = listOf({
      rows, at: -1, rtl: getComputedStyle(field).direction === 'rtl',
      choose(row) {
        surface.close();
        value.set.call(field, rows[row].label);
        tell(field, 'input', 'change');
      },
    });
    const { key, mouse } = list;
    Object.assign(list, {
      mouse(...values) { any ||= values[1] !== null; mouse(...values); },
      keys(event) {
        const ours = /^(ArrowUp|ArrowDown|PageUp|PageDown|Escape)$/.test(event.key) || (any && event.key === 'Enter');
        if (!ours && event.type === 'keydown' && /^(Enter|Tab)$/.test(event.key)) surface.close();
        return ours;
      },
      key(event) { any ||= event.key !== 'Escape'; key(event); },
    });
    surface.open(field, list);
  }
  listen(self, 'click', (event) => {
    const field = event.isTrusted && event.button === 0 ? fieldAt(targetOf(event)) : null;
    if (field && controls.pressed !== field) suggest(field);
  }, true);
  listen(self, 'input', (event) => {
    const field = event.isTrusted ? fieldAt(targetOf({ composedPath: () => event.composedPath(), key: '' })) : null;
    if (field && focused() === field) suggest(field);
  }, true);
  listen(self, 'keydown', (event) => {
    const field = event.isTrusted && /^Arrow(Up|Down)$/.test(event.key) ? fieldAt(targetOf(event)) : null;
    if (field && field.type !== 'number' && suggestionsOf(field).length) instead(event, () => suggest(field));
  }, true);
  controls.suggest = suggest;
})();
