// Calendars and columns of hours and minutes, for fields of dates and times. All days are counted in UTC, as `valueAsNumber`
// of a field is; today is that of the virtual clock.
(() => {
  'use strict';
  const { timeline, EPOCH_MS, controls } = self.__clock;
  const { surface } = timeline;
  const { tell } = controls;
  const DAY_MS = 86_400_000, MINUTE_MS = 60_000, HOUR_MS = 60 * MINUTE_MS;
  const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October',
    'November', 'December'];
  const DAYS = ['S', 'M', 'T', 'W', 'T', 'F', 'S'];
  const STYLE = `main { padding: 4px; display: flex; flex-wrap: wrap; gap: 4px }
    .calendar { display: grid; grid-template-columns: repeat(7, 21px); align-content: start }
    .calendar > *, .month > *, .column > * { height: 18px; text-align: center; overflow: hidden }
    .title { grid-column: span 3 } .title, .side { font-weight: bold } .name { color: #666 }
    .calendar > .month { grid-column: span 7; display: grid; grid-template-columns: repeat(4, 1fr); height: auto }
    .month > * { height: 27px; line-height: 27px } .foot { grid-column: span 3; color: #1967d2 }
    .foot.last { grid-column: span 4 } .far { color: #999 } .today { outline: 1px solid #767676; outline-offset: -1px }
    .columns { display: flex } .column { width: 34px; height: 162px; overflow: hidden }`;
  const { value, valueAsNumber } = Object.getOwnPropertyDescriptors(HTMLInputElement.prototype);

  // A field of the same kind, to ask the browser what a value is and whether it may be.
  function copyOf(field) {
    const copy = field.ownerDocument.createElement('input');
    for (const name of ['type', 'min', 'max', 'step', 'value']) {
      if (field.hasAttribute(name)) copy.setAttribute(name, field.getAttribute(name));
    }
    return copy;
  }
  function asText(copy, number) {
    valueAsNumber.set.call(copy, number);
    return value.get.call(copy);
  }
  function allows(copy, number) {
    const text = asText(copy, number), { rangeUnderflow, rangeOverflow, stepMismatch } = copy.validity;
    return text !== '' && !rangeUnderflow && !rangeOverflow && !stepMismatch;
  }
  function give(field, text) {
    if (value.get.call(field) === text) return;
    value.set.call(field, text);
    tell(field, 'input', 'change');
  }

  function pickerOf(field) {
    const { type } = field, copy = copyOf(field), now = EPOCH_MS + timeline.now;
    const ofMonths = type === 'month', ofDays = type === 'date' || type === 'week' || type === 'datetime-local';
    const ofTimes = type === 'time' || type === 'datetime-local';
    const given = valueAsNumber.get.call(field), has = !Number.isNaN(given);
    const fromMonths = (months) => Date.UTC(1970, months, 1);
    const stepMs = field.step === 'any' ? MINUTE_MS : (Number(field.step) || 60) * 1000;
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    // The nearest that may be to what has no value yet.
    function within(number) {
      for (const name of ['min', 'max']) {
        value.set.call(copy, field.getAttribute(name) ?? '');
        const bound = valueAsNumber.get.call(copy);
        if (!Number.isNaN(bound)) number = name === 'min' ? Math.max(number, bound) : Math.min(number, bound);
      }
      return number;
    }
    const unset = { month: (new Date(now).getUTCFullYear() - 1970) * 12 + new Date(now).getUTCMonth(), date: today,
      time: Math.floor((now % DAY_MS) / MINUTE_MS) * MINUTE_MS, week: today }[type] ??
      Math.floor(now / MINUTE_MS) * MINUTE_MS;
    const start = has ? given : within(unset);
    let day = ofMonths ? fromMonths(start) : Math.floor(start / DAY_MS) * DAY_MS; // the marked day, or first of the month
    let time = ofTimes ? ((start % DAY_MS) + DAY_MS) % DAY_MS : 0;
    let main, make;

    const monday = (ms) => ms - ((new Date(ms).getUTCDay() + 6) % 7) * DAY_MS;
    const numberOf = (ms) => {
      const date = new Date(ms);
      if (ofMonths) return (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth();
      return type === 'week' ? monday(ms) : type === 'time' ? time : ms + time;
    };
    function moveMonth(by, keepDay = true) {
      const date = new Date(day), year = date.getUTCFullYear(), month = date.getUTCMonth() + by;
      const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
      const moved = Date.UTC(year, month, ofMonths || !keepDay ? 1 : Math.min(date.getUTCDate(), last));
      if (moved > Date.UTC(0, 11, 31) && moved < Date.UTC(9999, 11, 32)) day = moved;
    }
    function choose(ms) {
      const number = numberOf(ms);
      if (type !== 'datetime-local' && !allows(copy, number)) return;
      day = ms;
      if (type !== 'datetime-local') surface.close();
      give(field, asText(copy, number));
      if (type === 'datetime-local') draw();
    }
    function setTime(ms) {
      time = ms;
      give(field, asText(copy, numberOf(day)));
      draw();
    }

    const actions = {
      before: () => { moveMonth(ofMonths ? -12 : -1); draw(); },
      after: () => { moveMonth(ofMonths ? 12 : 1); draw(); },
      clear: () => { surface.close(); give(field, ''); },
      now: () => {
        const from = ofMonths ? fromMonths(unset) : today;
        if (type === 'datetime-local') time = unset % DAY_MS;
        choose(from);
      },
    };
    const cell = (text, at, ...kinds) => make('div', { textContent: text, at, className: kinds.filter(Boolean).join(' ') });
    function calendar() {
      const date = new Date(day), year = date.getUTCFullYear(), month = date.getUTCMonth();
      const cells = [cell('«', 'year-before', 'side'), cell('‹', 'before', 'side'),
        cell(ofMonths ? String(year).padStart(4, '0') : `${MONTHS[month].slice(0, 3)} ${year}`, undefined, 'title'),
        cell('›', 'after', 'side'), cell('»', 'year-after', 'side')];
      if (ofMonths) {
        const months = MONTHS.map((name, index) => {
          const ms = Date.UTC(year, index, 1);
          return cell(name.slice(0, 3), String(ms), ms === day && 'on', !allows(copy, numberOf(ms)) && 'off');
        });
        cells.push(make('div', { className: 'month' }, ...months));
      } else {
        cells.push(...(type === 'week' ? [...DAYS.slice(1), DAYS[0]] : DAYS).map((name) => cell(name, undefined, 'name')));
        const first = Date.UTC(year, month, 1);
        const from = type === 'week' ? monday(first) : first - new Date(first).getUTCDay() * DAY_MS;
        for (let index = 0; index < 42; index++) {
          const ms = from + index * DAY_MS, one = new Date(ms);
          const marked = type === 'week' ? monday(ms) === monday(day) : ms === day;
          const may = type === 'datetime-local' ? allowsDay(ms) : allows(copy, numberOf(ms));
          cells.push(cell(String(one.getUTCDate()), String(ms), marked && 'on', !may && 'off',
            one.getUTCMonth() !== month && 'far', ms === today && 'today'));
        }
      }
      cells.push(cell('Clear', 'clear', 'foot'),
        cell({ month: 'This month', week: 'This week' }[type] ?? 'Today', 'now', 'foot', 'last'));
      return make('div', { className: 'calendar' }, ...cells);
    }
    function allowsDay(ms) { // some time of it
      const texts = ['min', 'max'].map((name) => (field.getAttribute(name) ?? '').slice(0, 10));
      const one = new Date(ms).toISOString().slice(0, 10);
      return !(texts[0] && one < texts[0]) && !(texts[1] && one > texts[1]);
    }
    function columns() {
      const [hour, minute, rest] = [Math.floor(time / HOUR_MS), Math.floor(time / MINUTE_MS) % 60, time % MINUTE_MS];
      const two = (number) => String(number).padStart(2, '0');
      const whole = stepMs % MINUTE_MS === 0, minutes = whole && HOUR_MS % stepMs === 0 ? stepMs / MINUTE_MS : 1;
      const at = (h, m, s) => h * HOUR_MS + m * MINUTE_MS + s;
      const column = (entries) => make('div', { className: 'column scrolls' },
        ...entries.map(([text, ms]) => cell(text, `time ${ms}`, ms === time && 'on')));
      const half = hour < 12 ? 0 : 12;
      const numbers = (count, by = 1) => Array.from({ length: Math.ceil(count / by) }, (_, index) => index * by);
      const all = [
        column(numbers(12).map((h) => [two(h || 12), at(half + h, minute, rest)])),
        column((stepMs % HOUR_MS === 0 ? [minute] : numbers(60, minutes)).map((m) => [two(m), at(hour, m, rest)])),
        ...(whole ? [] : [column(numbers(60).map((s) => [two(s), at(hour, minute, s * 1000 + (rest % 1000))]))]),
        column([['AM', at(hour % 12, minute, rest)], ['PM', at((hour % 12) + 12, minute, rest)]]),
      ];
      return make('div', { className: 'columns' }, ...all);
    }
    function draw() {
      const before = [...main.querySelectorAll('.column')].map((column) => column.scrollTop);
      main.replaceChildren(...(ofDays || ofMonths ? [calendar()] : []), ...(ofTimes ? [columns()] : []));
      for (const [index, column] of main.querySelectorAll('.column').entries()) {
        column.scrollTop = before[index] ?? 0;
        const marked = column.querySelector('.on');
        if (marked && before[index] === undefined) column.scrollTop = marked.offsetTop - column.offsetTop - 72;
      }
    }
    return {
      style: STYLE,
      build(element, maker) { [main, make] = [element, maker]; draw(); },
      placed() { draw(); },
      mouse(kind, element, { button }) {
        if (kind !== 'mouseup' || button !== 0 || !element || element.classList.contains('off')) return;
        const { at } = element.dataset;
        if (at.startsWith('time ')) setTime(Number(at.slice(5)));
        else if (at.startsWith('year')) { moveMonth(at === 'year-before' ? -12 : 12); draw(); }
        else if (actions[at]) actions[at]();
        else choose(Number(at));
      },
      key({ key, altKey }) {
        const leaves = key === 'Escape' || key === 'Tab' || key === 'F4' || (altKey && /^Arrow/.test(key));
        if (leaves) { surface.close(); return; }
        if (type === 'time') { keyOfTime(key); return; }
        const steps = ofMonths
          ? { ArrowLeft: () => moveMonth(-1), ArrowRight: () => moveMonth(1), ArrowUp: () => moveMonth(-4),
            ArrowDown: () => moveMonth(4), PageUp: () => moveMonth(-12), PageDown: () => moveMonth(12) }
          : { ArrowLeft: () => { day -= type === 'week' ? 7 * DAY_MS : DAY_MS; },
            ArrowRight: () => { day += type === 'week' ? 7 * DAY_MS : DAY_MS; },
            ArrowUp: () => { day -= 7 * DAY_MS; }, ArrowDown: () => { day += 7 * DAY_MS; },
            PageUp: () => moveMonth(-1), PageDown: () => moveMonth(1),
            Home: () => moveMonth(0, false), End: () => { moveMonth(1, false); day -= DAY_MS; },
            t: () => { day = today; }, m: () => moveMonth(1), M: () => moveMonth(-1),
            y: () => moveMonth(12), Y: () => moveMonth(-12) };
        if (key === 'Enter' || key === ' ') {
          choose(day);
          if (key === 'Enter' && type === 'datetime-local') surface.close();
        } else if (Object.hasOwn(steps, key)) {
          steps[key]();
          draw();
        }
      },
    };
    function keyOfTime(key) {
      const by = Math.max(stepMs, MINUTE_MS);
      const steps = { ArrowUp: -by, ArrowDown: by, ArrowLeft: -HOUR_MS, ArrowRight: HOUR_MS };
      if (key === 'Enter' || key === ' ') {
        surface.close();
        give(field, asText(copy, time));
      } else if (Object.hasOwn(steps, key)) {
        time = (time + steps[key] + DAY_MS) % DAY_MS;
        main.querySelectorAll('.column').forEach((column) => column.remove());
        draw();
      }
    }
  }
  controls.openDates = (field) => surface.open(field, pickerOf(field));
})();
