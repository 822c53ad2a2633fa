// A user of the page of stdwire web, in a browser. It does what its argument says, a JSON object, and prints what it saw.
//   url       the address that stdwire web printed
//   chromium  the browser
//   scenario  a function below, or of the script
//   script    a module whose default export returns further scenarios; web.mjs: none
//   shots     a folder for screenshots, or nothing
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium, args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'] });
const origin = new URL(given.url).origin;
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, reducedMotion: 'reduce' }); // axe must not see colours half-way
const page = await context.newPage();
page.setDefaultTimeout(60_000);
const seen = { errors: [], elsewhere: [], sandboxes: [] };
const watch = one => {
  one.on('console', message => { if (message.type() === 'error') seen.errors.push(`${message.text()} ${message.location().url}`); });
  one.on('pageerror', error => seen.errors.push(error.message));
};
watch(page);
context.on('request', request => {
  if (!/^(blob|data):/.test(request.url()) && ![origin, ...seen.sandboxes].includes(new URL(request.url()).origin)) seen.elsewhere.push(request.url());
});

// logged waits until the browser has logged an error that matches.
const logged = async pattern => {
  while (!seen.errors.some(text => pattern.test(text))) await page.waitForEvent('console');
};
const ready = () => page.waitForSelector('body[data-ready=yes]');
const go = async hash => {
  await page.evaluate(to => { location.hash = to; }, hash);
};
const text = selector => page.locator(selector).innerText();
// opened waits until a definition is open: the page may have selected another one by itself before.
const opened = (view, server, name) => page.waitForSelector(`.items a[aria-current][href=${JSON.stringify(`#/${view}/${encodeURIComponent(server)}/${encodeURIComponent(name)}`)}]`, { state: 'attached' });
const tool = async (server, name) => {
  await go(`#/tools/${encodeURIComponent(server)}/${encodeURIComponent(name)}`);
  await opened('tools', server, name);
};
const run = async (label = 'Run') => {
  // the result of the call before stays until this one has begun
  await page.evaluate(() => document.querySelectorAll('.result').forEach(one => { one.dataset.before = 'yes'; }));
  await page.getByRole('button', { name: label, exact: true }).click();
  await page.waitForSelector('.result:not([data-before])');
  return text('.result:not([data-before])');
};
// least measures until a time is below enough, a few times at most, and returns the least: others want the processor, too.
const least = async (enough, measure) => {
  let found = Infinity;
  for (let i = 0; i < 15 && found >= enough; i++) found = Math.min(found, await measure());
  return found;
};
const shoot = async name => { if (given.shots) await page.screenshot({ path: `${given.shots}/${name}.png` }); };
// a desk and a phone, each in one colour unless somebody looks at the pictures
const everywhere = given.shots ? [[1920, 1080], [1280, 800], [390, 844]] : [[1280, 800, 'light'], [390, 844, 'dark']];
// look adds what axe finds in the page to seen.findings, and what is wider than the page, at sizes and in a colour of each, or both.
const look = async (name, sizes = [[1280, 800], [360, 740]]) => {
  seen.findings ??= [];
  const before = page.viewportSize();
  const session = await context.newCDPSession(page); // the page's policy lets no script in but its own: the browser's own console may run this one
  const evaluate = async expression => (await session.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true, expression })).result.value;
  if (await evaluate('typeof axe') === 'undefined') await evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'));
  for (const [width, height, ...themes] of sizes) {
    await page.setViewportSize({ width, height });
    for (const theme of themes.length > 0 ? themes : ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: theme });
      await page.evaluate(async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); }); // charts are drawn in one
      const found = await evaluate(`axe.run(document, { resultTypes: ['violations'], iframes: false }).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.any.concat(n.all).map(c => c.message).join('; ')).join(' | ')))`);
      seen.findings.push(...found.map(finding => `${name} ${width} ${theme}: ${finding}`));
      await shoot(`${name}-${width}-${theme}`);
    }
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) seen.findings.push(`${name} ${width}: ${over} too wide`);
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
  await session.detach();
};

const scenarios = {
  async security() {
    await go('#/tools');
    await page.waitForSelector('.items a');
    seen.address = page.url();
    await page.reload();
    await ready();
    await page.waitForSelector('.items a');
    const server = given.server;
    const name = '<img src=x onerror="document.body.dataset.hacked=\'yes\'">';
    await tool(server, name);
    seen.title = await text('.detail h2');
    seen.description = await text('.detail .description');
    seen.result = await run();
    await go('#/timeline');
    await page.waitForSelector('.message');
    await page.locator('.message', { hasText: 'onerror' }).first().click();
    await page.waitForSelector('.message-panel .tree');
    seen.hacked = await page.evaluate(() => document.body.dataset.hacked ?? 'no');
    seen.images = await page.evaluate(() => document.querySelectorAll('img:not(.icon)').length);
    // markup and script are refused even if the page were to try
    seen.markup = await page.evaluate(() => {
      try {
        document.createElement('div').innerHTML = '<b>x</b>';
        return 'allowed';
      } catch (error) {
        return error.name;
      }
    });
    // another browser with the same address, or without it
    const other = await (await browser.newContext()).newPage();
    await other.goto(given.url);
    await other.waitForSelector('body[data-ready=refused]');
    seen.second = await other.locator('main').innerText();
    // another tab of the same browser
    const tab = await context.newPage();
    watch(tab);
    await tab.goto(`${origin}/#/servers`);
    await tab.waitForSelector('body[data-ready=yes]');
    // a page of another origin
    const foreign = createServer((_, response) => { response.setHeader('Content-Type', 'text/html').end('<!DOCTYPE html><title>foreign</title>'); });
    await new Promise(resolve => { foreign.listen(0, '127.0.0.1', resolve); });
    const evil = await (await browser.newContext()).newPage();
    await evil.goto(`http://127.0.0.1:${foreign.address().port}/`);
    seen.foreign = await evil.evaluate(async target => {
      const outcome = [];
      for (const [path, options] of [['api/servers', {}], ['session', { method: 'POST', body: '{}' }], ['session', { method: 'POST', mode: 'no-cors', body: '{}' }]]) {
        try {
          outcome.push((await fetch(`${target}/${path}`, options)).type);
        } catch (error) {
          outcome.push(error.name);
        }
      }
      const frame = document.createElement('iframe');
      frame.src = target;
      document.body.append(frame);
      await new Promise(resolve => { frame.onload = resolve; });
      try {
        outcome.push(frame.contentDocument ? 'readable' : 'closed');
      } catch {
        outcome.push('closed');
      }
      return outcome;
    }, origin);
    foreign.close();
  },

  async tools() {
    const server = given.server;
    await go('#/tools');
    await page.waitForSelector('.items a');
    seen.listed = await page.locator('.items a').count();
    await page.keyboard.press('/');
    await page.keyboard.type('returns args');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('its argum');
    await page.waitForFunction(() => document.querySelectorAll('.items a').length === 1);
    await page.locator('.items a').click();
    await opened('tools', server, 'arguments');
    await page.getByLabel('Search tools').fill('');
    const form = page.locator('.form');
    await form.getByLabel('name', { exact: true }).fill('Ada');
    await form.getByLabel('city', { exact: true }).fill('London');
    await form.getByRole('button', { name: 'Add to tags' }).click();
    await form.getByLabel('tags 1', { exact: true }).fill('x');
    await form.getByRole('button', { name: 'Add to tags' }).click();
    await form.getByLabel('tags 2', { exact: true }).fill('y');
    await form.getByRole('button', { name: 'Move tags 2 up' }).click();
    await form.getByRole('radiogroup', { name: 'size' }).getByText('Large').click();
    await form.getByLabel('contact: kind').selectOption({ label: 'Phone' });
    await form.getByLabel('phone', { exact: true }).fill('9007199254740993');
    await form.getByLabel('data: a file').setInputFiles({ name: 'f', mimeType: 'text/plain', buffer: Buffer.from('hello') });
    await form.getByLabel('Name of a member of more').fill('ratio');
    await form.locator('fieldset', { has: page.getByLabel('Name of a member of more') }).last().getByRole('button', { name: 'Add' }).click();
    await form.getByLabel('ratio', { exact: true }).fill('1.5');
    await page.waitForFunction(() => document.querySelector('textarea.json')?.value.includes('aGVsbG8='));
    seen.json = JSON.parse(await page.locator('textarea.json').inputValue());
    seen.sent = await run();
    await page.locator('textarea.json').fill('{"name": "Alan", "address": {"city": "Paris"}, "count": 12345678901234567890}');
    seen.name = await form.getByLabel('name', { exact: true }).inputValue();
    seen.exact = await run();
    seen.code = {};
    let code = null;
    for (const [language, action] of [['stdwire', 'As a command line'], ['curl', 'As curl'], ['Go', 'As Go'], ['TypeScript', 'As TypeScript']]) {
      await page.getByRole('button', { name: 'Copy as' }).click();
      await page.getByRole('menuitem', { name: action, exact: true }).click();
      await page.waitForFunction(before => ![undefined, '', before].includes(document.querySelector('.code')?.innerText), code);
      seen.code[language] = code = await text('.code');
    }
    await page.getByRole('button', { name: 'Earlier calls' }).click();
    seen.earlier = await page.getByRole('menuitem').count();
    await page.getByRole('menuitem').last().click(); // the first call
    await page.waitForFunction(() => document.querySelector('textarea.json')?.value.includes('aGVsbG8='));
    await page.locator('.detail details', { hasText: '_meta' }).locator('summary').first().click();
    await page.getByLabel('Members of _meta, as JSON').fill('{"example.com/x": 7}');
    await run();
    seen.meta = await page.evaluate(async () => {
      const get = async path => (await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${localStorage.getItem('stdwire key')}` } })).json();
      const { messages } = await get('traffic?after=0');
      const { n } = messages.findLast(one => one.kind === 'request' && one.method === 'tools/call');
      return JSON.parse((await get(`traffic/${n}`)).text).params._meta;
    });
    await tool(server, 'visit');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('#questions .question');
    seen.page = await text('#questions .question');
    seen.link = await page.locator('#questions .url a').getAttribute('href');
    await page.getByRole('button', { name: 'I agree' }).click();
    await page.waitForSelector('.result');
    seen.visited = await text('.result');
    await tool(server, 'misfit');
    seen.misfit = await run();
    await tool(server, 'rows');
    await run();
    seen.rows = await page.locator('.result table tbody tr').allInnerTexts();
    await tool(server, 'large');
    seen.large = await least(5000, async () => {
      const begun = Date.now();
      await run();
      return Date.now() - begun;
    });
    seen.shown = (await text('.result pre')).length;
    await page.getByRole('button', { name: /Show all of 8,388,608/ }).click();
    await page.waitForFunction(() => document.querySelector('.result pre')?.textContent.length === 8388608);
    // a call that outlives the page
    await tool(server, 'slow');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('.progress progress[value="1"]');
    await page.reload();
    await ready();
    await page.waitForSelector('.progress progress[value="1"]');
    seen.progress = await text('.progress');
    const slow = page.url();
    await tool(server, 'release');
    await run();
    await page.goto(slow);
    await opened('tools', server, 'slow');
    await page.waitForSelector('.result');
    seen.released = await text('.result');
    await tool(server, 'slow');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('.progress');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForSelector('.result');
    seen.cancelled = await text('.result');
    await tool(server, 'echo');
    seen.badges = await page.locator('.detail .badge').allInnerTexts();
    seen.icons = await page.locator('.detail img.icon').count();
    seen.diff = (await page.locator('.detail .diff').count()) ? await text('.detail .diff') : '';
    if (seen.diff) {
      await page.getByRole('button', { name: 'Accept' }).click();
      await page.waitForFunction(() => !document.querySelector('.detail .diff'));
    }
    await shoot('tool');
  },

  // A server connects while the user presses a button: the panel stays, with what the user has typed.
  async kept() {
    let known = false;
    await page.route('**/api/servers', async route => {
      const response = await route.fetch();
      const servers = await response.json();
      await route.fulfill({ response, json: servers.map(({ details, ...server }) => known ? { details, ...server } : server) });
    });
    await page.reload();
    await ready();
    await tool(given.server, 'test_elicitation');
    const message = page.locator('.form').getByLabel('message', { exact: true });
    const asTask = page.getByRole('button', { name: 'Run as a task' });
    await message.fill('Still here?');
    seen.before = await asTask.isVisible();
    await page.getByRole('button', { name: 'Run', exact: true }).hover();
    await page.mouse.down();
    known = true;
    await page.evaluate(async () => {
      const [api, { emit, state }] = await Promise.all([import('./api.js'), import('./store.js')]);
      state.servers = await api.get('servers');
      emit('servers');
    });
    await asTask.waitFor();
    await page.mouse.up();
    await page.waitForSelector('#questions .question');
    seen.asked = await text('#questions .question .description');
    seen.kept = await message.inputValue();
  },

  // What the page selects by itself sends its server nothing. A call of it names it in the address.
  async selected() {
    let release;
    const held = new Promise(resolve => { release = resolve; });
    let asks = 0; // for definitions, which starts the server
    await page.route('**/definitions', async route => {
      asks++;
      await held;
      await route.continue();
    });
    await page.reload();
    await ready();
    await go('#/tools');
    await page.getByText(/^Waiting for /).waitFor();
    await go('#/servers');
    await page.waitForSelector('.card');
    release();
    seen.late = await page.evaluate(async id => {
      const { definitions, state } = await import('./store.js');
      await definitions(id);
      await new Promise(resolve => { setTimeout(resolve); });
      return state.selected.name ?? '';
    }, given.server);
    await go('#/tools');
    await page.waitForSelector('.items a[aria-current]');
    seen.first = await page.locator('.items a').first().getAttribute('href');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForFunction(() => location.hash.includes('call='));
    seen.address = await page.evaluate(() => location.hash);
    await page.reload();
    await ready();
    await page.waitForSelector('.items a[aria-current]');
    seen.current = await page.locator('.items a[aria-current]').getAttribute('href');
    await go('#/skills');
    await page.getByRole('button', { name: 'Check its entry' }).waitFor();
    const asked = () => page.evaluate(async () => {
      const { messages } = await (await fetch('api/traffic?after=0', { headers: { Authorization: `Bearer ${localStorage.getItem('stdwire key')}` } })).json();
      return messages.filter(one => one.kind === 'request').map(one => one.method);
    });
    seen.before = await asked();
    await page.locator('.items a[aria-current]').click();
    await page.getByText('Its entry is well formed.').waitFor();
    seen.after = await asked();
    // the question of the call is put away, and the focus goes where it can be had again
    await page.getByRole('button', { name: 'Later' }).click();
    await page.waitForFunction(() => document.activeElement.id === 'ask');
    // a wide window shows the latest messages, but not beside the timeline
    await page.setViewportSize({ width: 1920, height: 1080 });
    await page.reload();
    await ready();
    await page.waitForSelector('#watch[aria-pressed=true]');
    await go('#/timeline');
    await page.waitForSelector('#watch[aria-pressed=false]');
    // a server that the user has stopped stays so
    await go('#/servers');
    const state = page.locator('.card .state');
    await state.and(page.getByText('Ready')).waitFor();
    await page.getByRole('switch').click();
    await state.and(page.getByText('Stopped')).waitFor();
    asks = 0;
    await page.reload();
    await ready();
    await state.and(page.getByText('Stopped')).waitFor();
    seen.state = await page.evaluate(async () => (await (await import('./api.js')).get('servers'))[0].state);
    seen.asks = asks;
  },

  // The lists of one server are shown while another one takes its time.
  async slow() {
    let release;
    const held = new Promise(resolve => { release = resolve; });
    let broken = false;
    await page.route('**/servers/slow/definitions', async route => {
      await held;
      if (broken) await route.fulfill({ json: { lists: {}, problems: { tool: { code: 'server_died', message: 'cut off' } } } });
      else await route.continue();
    });
    await page.evaluate(async () => {
      for (const id of ['slow', 'fast']) await (await import('./api.js')).post(`servers/${id}/do/start`);
    });
    await go('#/tools');
    await page.getByText('Waiting for slow …').waitFor();
    await page.locator('.items .group').first().waitFor(); // rows are drawn with the next frame
    seen.early = await page.locator('.items .group').allInnerTexts();
    await page.locator('.items a[href$="/echo"]').click();
    await page.locator('.detail h2', { hasText: 'Echo' }).waitFor();
    release();
    await page.waitForFunction(() => document.querySelectorAll('.items .group').length === 2);
    seen.kept = await page.evaluate(() => location.hash);
    // what is opened while its server does not answer gets the focus when it does
    broken = true;
    await page.reload();
    await ready();
    await page.evaluate(async () => (await import('./explore.js')).enter('tools', 'slow', 'echo'));
    await page.getByText('echo is not listed yet').waitFor();
    broken = false;
    await page.waitForFunction(() => document.activeElement.closest('.detail .form'));
    await go('#/tools/slow/none');
    await page.getByText('none is not listed', { exact: true }).waitFor();
  },

  // The everything-server, in both eras and over both transports.
  async everything() {
    const server = given.server;
    await tool(server, 'test_simple_text');
    seen.simple = await run();
    await tool(server, 'test_image_content');
    await run();
    seen.image = await page.locator('.result img').evaluate(image => image.decode().then(() => image.naturalWidth > 0));
    await tool(server, 'test_audio_content');
    await run();
    seen.audio = await page.locator('.result audio').count();
    await tool(server, 'test_embedded_resource');
    seen.embedded = await run();
    await tool(server, 'test_error_handling');
    seen.failed = await run();
    await tool(server, 'test_tool_with_progress');
    await run();
    await tool(server, 'slow_compute');
    const seconds = page.locator('.form').getByLabel('seconds', { exact: true });
    await seconds.fill('600'); // so that it is still running when it is looked at
    await page.getByRole('button', { name: 'Run as a task' }).click();
    await page.waitForFunction(() => /task \S+: /.test(document.querySelector('.progress')?.innerText ?? ''));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForSelector('.result');
    await seconds.fill('1');
    seen.task = await run('Run as a task');
    // a form that the server asks for
    await tool(server, 'test_elicitation');
    await page.locator('.form').getByLabel('message', { exact: true }).fill('Who are you?');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('#questions .question');
    await page.getByRole('button', { name: 'Answer' }).click();
    seen.asked = await text('#questions .question .description');
    for (const input of await page.locator('#questions .form input[type=text], #questions .form input[type=email]').all()) await input.fill('ada@example.com');
    await shoot('question');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.result');
    seen.elicited = await text('.result');
    await page.waitForFunction(() => document.querySelector('#questions')?.hidden); // the next question is another
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForSelector('#questions .question');
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.waitForFunction(() => document.querySelector('.result')?.innerText.includes('decline'));
    // a text of a model
    await tool(server, 'test_sampling');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByLabel('The answer').fill('It is Paris.');
    await page.locator('#questions').getByRole('button', { name: 'Send' }).click();
    await page.waitForSelector('.result');
    seen.sampled = await text('.result');
    // roots
    await tool(server, 'test_input_required_result_list_roots');
    seen.given = await run(); // which needs no answer
    await go('#/servers');
    await page.getByRole('button', { name: /^More for/ }).click();
    await page.getByRole('menuitem', { name: 'Roots' }).click();
    await page.getByRole('button', { name: 'Ask each time' }).click();
    await page.getByText('You are asked when').waitFor();
    await tool(server, 'test_input_required_result_list_roots');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByLabel(/^Roots/).fill('file:///a\nfile:///b');
    await page.locator('#questions').getByRole('button', { name: 'Send' }).click();
    await page.waitForSelector('.result');
    seen.roots = await text('.result');
    await page.getByRole('button', { name: 'Run', exact: true }).click(); // it is not asked again
    await page.waitForSelector('.result');
    await go(`#/resources/${encodeURIComponent(server)}/${encodeURIComponent('test://static-text')}`);
    seen.read = await run('Read');
    await go(`#/templates/${encodeURIComponent(server)}/${encodeURIComponent('test://template/{id}/data')}`);
    await page.getByLabel('id', { exact: true }).fill('a b');
    seen.template = await run('Read');
    await go('#/prompts');
    await page.waitForSelector('.items a');
    await page.locator('.items a', { hasText: 'test_prompt_with_arguments' }).click();
    await page.getByLabel('arg1', { exact: true }).fill('hello');
    await page.waitForFunction(() => document.querySelector('.form datalist'));
    await page.getByLabel('arg2', { exact: true }).fill('world');
    seen.prompt = await run('Get');
    // the timeline shows the question inside its call
    await go('#/timeline?filter=' + encodeURIComponent('elicitation'));
    await page.waitForSelector('.rows');
    await go('#/timeline?filter=' + encodeURIComponent('test_elicitation kind:request'));
    await page.waitForSelector('.message');
    await page.locator('.message').first().click();
    await page.waitForSelector('.message-panel');
    seen.within = await page.locator('.message-panel .row').first().innerText();
    if (given.http) {
      await page.locator('.http summary').click();
      seen.http = await text('.http');
    }
    await page.getByRole('button', { name: 'Its response' }).click();
    await page.waitForFunction(() => document.querySelector('.message-panel h3')?.innerText.includes('response'));
  },

  async watched() {
    const server = given.server;
    await go(`#/resources/${encodeURIComponent(server)}/${encodeURIComponent('test://watched-resource')}`);
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.waitForSelector('button:text("Unsubscribe")');
    const id = await page.evaluate(async ({ server }) => {
      const key = localStorage.getItem('stdwire key');
      const call = await fetch('api/calls', { method: 'POST', headers: { Authorization: `Bearer ${key}` },
        body: JSON.stringify({ server, method: 'tools/call', params: { name: 'test_trigger_resource_update', arguments: {} } }) });
      return (await call.json()).id;
    }, { server });
    seen.id = id;
    await page.waitForFunction(() => document.querySelector('.detail')?.innerText.includes('It changed at'));
    await page.waitForSelector('.result');
  },

  async timeline() {
    await go('#/timeline');
    await page.waitForFunction(() => document.querySelectorAll('.message').length > 10);
    seen.count = await text('.timeline [role=status]');
    // the messages of a call: the latest, those about a long name, and none if it has no name
    seen.calls = await page.evaluate(async () => {
      const [{ messagesOf }, { all }] = await Promise.all([import('./monitor.js'), import('./messages.js')]);
      const one = all.find(message => message.about);
      all.push({ ...one, n: 1e6, about: `${'x'.repeat(256)}…` });
      const found = [one.about, 'x'.repeat(300), undefined].map(name => {
        const place = document.createElement('div');
        messagesOf(place, { request: { server: one.lane, method: one.method, params: { name } }, began: 0, ended: Infinity })();
        return `${place.querySelectorAll('li').length} ${place.querySelector('h3')?.textContent}`;
      });
      all.pop();
      return found;
    });
    await page.getByLabel('Filter').fill('error');
    await page.waitForFunction(() => /^\d+ of/.test(document.querySelector('.timeline [role=status]')?.innerText));
    seen.errorsonly = await text('.timeline [role=status]');
    await page.getByLabel('Filter').fill('from:server >10ms kind:response');
    seen.slow = await text('.timeline [role=status]');
    await page.getByLabel('Filter').fill('text:v777');
    await page.waitForFunction(() => document.querySelectorAll('.message').length < 20);
    seen.text = await text('.timeline [role=status]');
    await page.getByLabel('Filter').fill('');
    await page.waitForFunction(() => document.querySelectorAll('.message').length > 10);
    await page.locator('.message').nth(5).click();
    await page.waitForSelector('.message-panel .tree');
    await page.getByRole('button', { name: 'As it was sent' }).first().click();
    seen.sent = await text('.message-panel pre');
    await page.locator('.rows').focus();
    await page.keyboard.press('Home');
    await page.waitForFunction(() => location.hash === '#/timeline/1');
    await page.keyboard.press('ArrowDown');
    await page.waitForFunction(() => location.hash === '#/timeline/2');
    await page.waitForFunction(() => document.querySelector('.message-panel h3')?.innerText.includes('response'));
    await page.getByRole('button', { name: 'Mark' }).click();
    await page.locator('.rows').focus();
    for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
    await page.getByRole('button', { name: 'Compare with 2' }).click();
    await page.waitForSelector('.compared .diff');
    seen.diff = await text('.compared .diff');
    await page.locator('.chart').click({ position: { x: 400, y: 34 } });
    await page.waitForFunction(() => Number(location.hash.split('/')[2]) > 10);
    await page.locator('.chart').hover({ position: { x: 400, y: 34 } });
    for (let i = 0; i < 20; i++) await page.mouse.wheel(0, -100);
    await shoot('timeline');
    seen.files = {};
    for (const [name, format] of [['Save as recording', 'jsonl'], ['HAR', 'har'], ['HTML', 'html'], ['OTLP', 'otlp.json']]) {
      if (!await page.locator('.files').evaluate(node => node.open)) await page.locator('.files summary').click();
      const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
      seen.files[format] = `${given.dir}/out.${format}`;
      await file.saveAs(seen.files[format]);
    }
    await page.getByLabel('Open a recording').setInputFiles(seen.files.jsonl);
    await page.waitForFunction(() => document.querySelector('.timeline [role=status]')?.innerText.includes('of 4,000'));
    seen.twice = await text('.timeline [role=status]');
    await page.locator('.files summary').click();
    await page.locator('.files summary').click();
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.waitForSelector('.compared h3');
    seen.compared = await text('.compared h3');
    // the page that was saved stands alone
    const saved = await (await browser.newContext()).newPage();
    await saved.goto(`file://${seen.files.html}`);
    await saved.locator('summary').nth(3).click();
    seen.alone = await saved.locator('details[open] pre').innerText();
  },

  async refusals() {
    await go('#/timeline');
    await page.waitForFunction(() => document.querySelectorAll('.message').length >= 4);
    seen.all = await page.locator('.message').allInnerTexts();
    seen.bad = await page.locator('.message.bad').allInnerTexts();
  },

  async again() {
    await tool(given.server, 'echo');
    await page.locator('.form').getByLabel('text', { exact: true }).fill('once');
    await run();
    await go('#/timeline?filter=' + encodeURIComponent('method:tools/call kind:request'));
    await page.waitForSelector('.message');
    await page.locator('.message').first().click();
    await page.getByRole('button', { name: 'Edit and send again' }).click();
    await page.getByLabel('Params, as JSON').fill('{"name": "echo", "arguments": {"text": "twice"}}');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.waitForSelector('.message-panel .result');
    seen.result = await text('.message-panel .result');
  },

  async tapped() {
    await go('#/timeline');
    await page.waitForFunction(() => [...document.querySelectorAll('.message')].some(row => row.innerText.includes(' ') && row.innerText.includes('test_simple_text')));
    seen.rows = await page.locator('.message').allInnerTexts();
  },

  // server-everything and the filesystem server, which ask for the roots at their start.
  async official() {
    await go('#/tools');
    await page.locator('.toast').getByRole('button', { name: 'Change' }).click(); // it got the working directory
    await page.getByRole('textbox', { name: /^Roots/ }).fill(given.root);
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.waitForSelector('dialog', { state: 'detached' });
    seen.questions = await page.evaluate(() => document.body.dataset.questions);
    await tool(given.server, given.tool);
    for (const [label, value] of Object.entries(given.fill)) await page.locator('.form').getByLabel(label, { exact: true }).fill(value);
    seen.result = await run();
    seen.tools = await page.locator('.items a').count();
    if (!given.completes) return;
    await go('#/prompts');
    await page.locator('.items a', { hasText: given.completes }).click();
    const input = page.locator('.form input').first();
    await input.fill('E');
    await page.waitForFunction(() => document.querySelectorAll('.form datalist option').length > 0);
    seen.completions = await page.locator('.form datalist').first().locator('option').evaluateAll(all => all.map(one => one.value));
  },

  async gateway() {
    await go('#/timeline');
    const of = lane => page.waitForFunction(lane => [...document.querySelectorAll('.message')].some(row => row.querySelector('.c2')?.innerText.startsWith(lane) && row.innerText.includes('test_simple_text')), lane);
    await of('client 1');
    await of('everything');
    seen.rows = await page.locator('.message').allInnerTexts();
    await page.keyboard.press('g');
    const view = page.getByTestId('gateway');
    await view.getByRole('rowheader', { name: /^client 1/ }).waitFor();
    await view.getByRole('rowheader', { name: 'stdwire', exact: true }).waitFor(); // the page is a client, too
    seen.lanes = `${await view.innerText()} ${await view.locator('.flow svg').getAttribute('aria-label')}`;
    seen.server = await view.getByRole('row', { name: /^everything.* ms/ }).last().innerText();
    // a login of a user is revoked
    await page.route('**/api/gateway', async route => {
      const response = await route.fetch();
      const logins = seen.revoked ? [] : [{ user: 'ada', client: 'app', server: 'up', state: 'valid', until: '2027-02-26T10:00:00Z', scopes: ['read'] }];
      const store = { url: 'redis://store.example', reachable: false, since: '2026-11-28T10:00:00Z', error: 'no route to host', parts: ['results', 'rates'], affected: { rates: 'each counts for itself' } };
      await route.fulfill({ response, json: { ...await response.json(), logins, store } });
    });
    await page.route('**/api/gateway/revoke', route => {
      seen.revoked = route.request().postData();
      return route.fulfill({ json: { warning: 'its tokens stay valid' } });
    });
    await go('#/servers');
    await page.waitForSelector('.card');
    await go('#/gateway');
    const slowly = async target => { // presses it, and releases it when there is more to show
      await target.hover();
      await page.mouse.down();
      const known = await page.evaluate(async () => { window.known = (await import('./messages.js')).all; return window.known.length; });
      await page.waitForFunction(n => window.known.length > n, known + 200);
      await page.mouse.up();
    };
    await slowly(view.getByRole('button', { name: 'Revoke the login of ada at up' }));
    await page.getByText('its tokens stay valid').waitFor();
    seen.store = await view.locator('.card').filter({ has: page.getByRole('heading', { name: 'Store', exact: true }) }).innerText();
    await look('gateway', everywhere);
    await page.keyboard.press('m'); // the latest messages beside the view
    await slowly(page.getByTestId('monitor').getByRole('link').first());
    await page.waitForFunction(() => /^#\/timeline\/\d/.test(location.hash));
    await go('#/gateway');
    await page.keyboard.press('m');
    await page.getByTestId('monitor').waitFor({ state: 'hidden' });
    // the menu opens a page of the configuration, on a port of its own
    await page.getByRole('button', { name: /^gateway \d/ }).click();
    await page.getByRole('menuitem', { name: 'Look at the configuration' }).waitFor();
    await page.keyboard.press('Escape');
    const other = await page.evaluate(async () => (await (await import('./api.js')).post('pages', { pid: 0 })).address);
    seen.other = new URL(other).origin !== origin && (await fetch(other)).status === 200;
    await go('#/tools');
    await page.locator('main li a').filter({ hasText: 'everything__test_simple_text' }).first().click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.waitForFunction(() => document.querySelector('main')?.innerText.includes('This is a simple text'));
    const gateway = decodeURIComponent(await page.evaluate(() => location.hash.split('/')[2]));
    await go(`#/tools/${encodeURIComponent(gateway)}/files__fs_read?args=${encodeURIComponent('{"path":"lines.txt"}')}`);
    await opened('tools', gateway, 'files__fs_read');
    await run();
    const rest = page.getByRole('region', { name: 'The rest' });
    await rest.getByRole('button', { name: 'Read on' }).click();
    await rest.getByText(/ of 500/).waitFor();
    seen.rest = await rest.innerText();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.result .tree .copy').first().click();
    await page.getByRole('menuitem', { name: 'Copy the path' }).click();
    await page.getByText('Copied').waitFor();
    seen.copied = await page.evaluate(() => navigator.clipboard.readText());
    await go('#/timeline?filter=from:client%20kind:request%20everything__test_simple_text');
    await page.locator('.message', { hasText: 'client 1' }).first().click();
    await page.waitForSelector('.waterfall li');
    seen.parts = await text('.waterfall');
    await look('waterfall', everywhere);
    await go('#/servers');
    const card = page.locator('.card[aria-label=everything]');
    const state = want => page.waitForFunction(want => document.querySelector('.card[aria-label=everything] .state')?.innerText === want, want);
    const choose = async action => {
      await card.getByRole('button', { name: 'More for everything' }).click();
      await card.getByRole('menuitem', { name: action }).click();
    };
    await state('Ready');
    await card.getByText('Details', { exact: true }).click();
    seen.facts = await card.locator('.facts').innerText();
    await choose('Disable');
    await state('Disabled');
    await choose('Enable');
    await page.waitForFunction(() => document.querySelector('.card[aria-label=everything] .state')?.innerText !== 'Disabled');
    await card.getByRole('button', { name: 'Logs' }).click();
    await card.locator('.log').waitFor();
  },

  async saved() {
    await tool(given.server, 'rows');
    await page.getByRole('button', { name: 'Save the call' }).click();
    await page.getByLabel('Name of the saved call').fill('rows are there');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('link', { name: 'all saved calls' }).click();
    await page.getByText('Expectations').click();
    const json = page.getByLabel('rows are there, as JSON');
    const edit = async change => {
      await json.fill(JSON.stringify({ ...JSON.parse(await json.inputValue()), ...change }));
      await page.getByRole('button', { name: 'Apply' }).click();
    };
    await edit({ expect: { within: 'fast' } });
    await page.waitForSelector('.card .problem');
    seen.refused = await text('.card .problem');
    await edit({ expect: { values: { '/structuredContent/rows/0/name': 'last' }, within: '20s' } });
    await page.waitForFunction(() => !document.querySelector('.card .problem'));
    await page.getByRole('button', { name: 'Run all' }).click();
    await page.waitForSelector('.outcome.bad');
    seen.failed = await text('main');
    await page.getByText('Expectations').click();
    await edit({ expect: { values: { '/structuredContent/rows/0/name': 'first' }, within: '20s' } });
    await page.waitForFunction(() => !document.querySelector('.outcome.bad'));
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'JUnit' }).click()]);
    await file.saveAs(`${given.dir}/junit.xml`);
    await page.waitForSelector('.outcome.good');
    await shoot('saved-run');
    await page.getByRole('link', { name: 'Open' }).click();
    await opened('tools', given.server, 'rows');
  },

  async odd() {
    await tool(given.server, 'odd');
    seen.result = await run();
    seen.items = await page.locator('.items a').count();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('numbered');
    await page.getByRole('option', { name: /^7/ }).waitFor();
    await page.keyboard.press('Enter');
    await opened('tools', given.server, 'numbered');
    seen.described = await text('.detail .description');
  },

  async flood() {
    await go('#/timeline');
    await page.waitForFunction(() => Number(document.querySelector('.timeline [role=status]')?.innerText.replaceAll(',', '').split(' ')[0]) > 20000);
    seen.lag = await least(2000, () => page.evaluate(async () => {
      let worst = 0;
      for (let i = 0; i < 100; i++) {
        const before = performance.now();
        await new Promise(resolve => { setTimeout(resolve, 10); });
        worst = Math.max(worst, performance.now() - before - 10);
      }
      return worst;
    }));
    await tool(given.server, 'echo');
    seen.result = await run();
  },

  async servers() {
    await go('#/servers');
    await page.waitForSelector('.card');
    const card = id => page.locator(`.card[aria-label="${id}"]`);
    const state = async (id, want) => {
      await page.waitForFunction(([id, want]) => document.querySelector(`.card[aria-label="${id}"] .state`)?.innerText === want, [id, want]);
    };
    seen.cards = await page.locator('.card h3').allInnerTexts();
    // clicks counts what the user clicks for a task
    await page.evaluate(() => { addEventListener('click', event => { window.clicks += event.isTrusted; }, true); });
    const clicks = async (task, act) => {
      await page.evaluate(() => { window.clicks = 0; });
      await act();
      seen.clicks = { ...seen.clicks, [task]: await page.evaluate(() => window.clicks) };
    };
    const tasks = async () => {
      await clicks('find', async () => {
        await page.locator('nav a[data-view=tools]').click();
        await page.waitForSelector('.items a');
        await page.keyboard.press('/');
        await page.keyboard.type('simple_text');
        await page.waitForFunction(() => document.querySelectorAll('.items a').length === 1);
        await page.keyboard.press('Enter');
        await opened('tools', 'good', 'test_simple_text');
      });
      await clicks('call and read', async () => { seen.read = await run(); });
      await clicks('messages', async () => {
        const of = page.getByRole('list', { name: 'Messages of the call' });
        await of.locator('summary', { hasText: '↳ tools/call' }).first().click();
        await of.locator('.tree', { hasText: 'resultType' }).first().waitFor();
      });
      await go('#/servers');
      await page.waitForSelector('.card');
    };
    const toggle = id => card(id).getByRole('switch').click();
    const choose = async (id, action) => {
      await card(id).getByRole('button', { name: `More for ${id}` }).click();
      await card(id).getByRole('menuitem', { name: action }).click();
    };
    await clicks('connect', async () => {
      await toggle('good');
      await state('good', 'Ready');
    });
    await page.waitForFunction(() => document.querySelector('.card .stats')?.innerText.includes('modern'));
    await card('good').getByText('Details', { exact: true }).click();
    await card('good').getByText('MiB').first().waitFor(); // its memory is asked for
    seen.facts = await card('good').innerText();
    const before = await page.evaluate(async () => { window.store = await import('./store.js'); return window.store.server('good').since; });
    await choose('good', 'Restart');
    await page.waitForFunction(before => window.store.server('good').since !== before, before); // it is not ready yet, or again
    await state('good', 'Ready');
    await tasks();
    await toggle('good');
    await state('good', 'Stopped');
    await choose('good', 'Disable');
    await state('good', 'Disabled');
    await choose('good', 'Enable');
    await state('good', 'Stopped');
    await clicks('why it fails', async () => {
      await toggle('bad');
      await card('bad').locator('.problem').first().waitFor();
    });
    seen.bad = await card('bad').innerText();
    await card('bad').getByRole('button', { name: 'Logs', exact: true }).click();
    await card('bad').locator('.log', { hasText: 'missing API key' }).waitFor();
    seen.log = await card('bad').locator('.log').innerText();
    await choose('bad', 'Doctor');
    await page.waitForFunction(() => document.querySelector('.card[aria-label=bad]')?.innerText.includes('doctor: '));
    seen.doctor = await card('bad').innerText();
    await shoot('servers');
  },

  // Views on a tablet and a small phone, and tasks by keys alone.
  async accessible() {
    const server = encodeURIComponent(given.server);
    await page.locator('.card .state', { hasText: 'Ready' }).waitFor(); // the only server has connected
    await tool(given.server, 'rows');
    await run();
    const hashes = { servers: '#/servers', tool: `#/tools/${server}/arguments`, list: `#/tools/${server}`, timeline: '#/timeline/1', saved: '#/saved' };
    for (const [name, hash] of Object.entries(hashes)) {
      await go(hash);
      await page.waitForSelector(`nav a[aria-current][data-view=${/\w+/.exec(hash)[0]}]`);
      await page.waitForSelector(name === 'timeline' ? '.message-panel .tree' : 'main h2:visible');
      await look(name, [[768, 1024], [360, 740]]);
    }
    // without a mouse: from the list to the result
    await page.keyboard.press('2');
    await page.waitForSelector('.items a');
    await page.keyboard.press('/');
    await page.keyboard.type('echo');
    await page.waitForFunction(() => document.querySelectorAll('.items a').length === 1); // rows are drawn with the next frame
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await opened('tools', given.server, 'echo');
    await page.keyboard.press('i');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.result');
    seen.keys = await text('.result');
    // by the search over everything to another call, and to its messages
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Control+k');
    await page.keyboard.type('misfit');
    await page.getByRole('option', { name: /^misfit/ }).waitFor();
    await page.keyboard.press('Enter');
    await opened('tools', given.server, 'misfit');
    await page.waitForFunction(() => document.activeElement.closest('.detail'));
    await page.keyboard.press('Control+Enter');
    const messages = page.getByRole('list', { name: 'Messages of the call' });
    await messages.locator('summary', { hasText: '↳' }).waitFor();
    for (let i = 0; i < 60 && !await messages.locator('summary:focus', { hasText: '↳' }).count(); i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await messages.locator('.tree', { hasText: 'structuredContent' }).first().waitFor();
    seen.message = await messages.locator('.tree').first().innerText();
    await look('messages', [[1280, 800]]);
    await page.evaluate(() => document.activeElement.blur());
    seen.views = await page.locator('nav a').evaluateAll(all => all.map(a => a.dataset.view));
    seen.reached = [];
    for (const key of '123456789tlh') {
      await page.keyboard.press(key);
      seen.reached.push(await page.evaluate(() => location.hash.slice(2)));
    }
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    seen.help = await text('dialog');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    await look('search', [[1280, 800]]);
  },

  // The search over everything, and the width of a list.
  async search() {
    await tool(given.server, 'rows');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('echo');
    await page.getByRole('option', { name: /^Echo/ }).waitFor();
    await shoot('search');
    await page.keyboard.press('Enter');
    await page.locator('.detail h2', { hasText: 'echo' }).waitFor();
    seen.found = await page.evaluate(() => location.hash);
    const handle = page.getByRole('separator', { name: 'Width of the list' });
    const width = async () => (await page.locator('.side').boundingBox()).width;
    seen.widths = [await width()];
    await handle.press('ArrowRight');
    seen.widths.push(await width());
    await page.reload();
    await page.locator('.detail h2').waitFor();
    seen.widths.push(await width());
    // Enter in the search of a list opens the best, and presses nothing there; nor does a key that is held
    const find = page.getByLabel('Search tools');
    for (let i = 0; i < 2; i++) { // the second time it is open already
      await find.fill('misfit');
      await page.keyboard.down('Enter');
      await opened('tools', given.server, 'misfit');
      await page.waitForFunction(() => document.activeElement.textContent === 'Run');
      await page.keyboard.down('Enter');
      await page.keyboard.up('Enter');
    }
    await find.fill('rows');
    await page.keyboard.press('Control+Enter');
    await page.waitForSelector('.result');
    seen.calls = await page.evaluate(async () => (await (await import('./api.js')).get('calls')).map(call => call.tool));
    seen.open = await page.evaluate(() => location.hash);
  },

  // Markdown of servers becomes a few elements, and takes no time.
  async markdown() {
    await tool(given.server, 'markdown');
    const shown = page.locator('.detail .description');
    await shown.locator('pre').waitFor();
    seen.text = await shown.innerText();
    seen.elements = await shown.evaluate(node => [...node.querySelectorAll('.markdown *')].map(one => one.localName));
    seen.links = await shown.locator('a').evaluateAll(all => all.map(a => [a.href, a.rel, a.target]));
    await page.locator('textarea.json').fill(JSON.stringify({ text: '**bold** <b>text</b>' }));
    await run();
    seen.bold = await page.locator('.result strong').first().innerText();
    await page.getByRole('button', { name: 'Plain', exact: true }).click();
    seen.plain = await page.locator('.result pre').first().innerText();
    seen.worst = await page.evaluate(async hostile => {
      const { markdown } = await import('./markdown.js');
      const found = {};
      for (const one of hostile) {
        const begun = performance.now();
        const node = markdown(one.repeat(Math.ceil(1_000_000 / one.length)));
        found[one] = [performance.now() - begun, node.querySelectorAll('*').length, node.querySelectorAll('img, script, iframe').length];
      }
      return Object.values(found);
    }, ['*', '**a', '[', '[a](', '[a](https://a.example)', '`', '- ', '\n- a', '\n```', '\n', '_', '__a', '1. \n', '<img src=x onerror=alert(1)>', '# a\n', '![a](data:,x)']);
  },

  // 6,000 tools: only those in sight have rows, and the search shows the best first.
  async manytools() {
    await go('#/tools');
    const rows = page.locator('.items a');
    await rows.first().waitFor();
    const count = () => rows.count();
    seen.rows = [await count()];
    seen.longest = await least(2000, () => page.evaluate(async () => {
      const list = document.querySelector('.scroller');
      let worst = 0;
      let last = performance.now();
      for (let i = 0; i < 60; i++) {
        list.scrollTop = (i * 7919 % 100) / 100 * list.scrollHeight;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        worst = Math.max(worst, now - last);
        last = now;
      }
      list.scrollTop = list.scrollHeight;
      return worst;
    }));
    await rows.getByText('tool_5999', { exact: true }).waitFor();
    seen.rows.push(await count());
    await tool(given.server, 'tool_3000'); // its row comes into sight
    await page.waitForFunction(() => {
      const row = document.querySelector('.items a[aria-current]')?.getBoundingClientRect();
      const list = document.querySelector('.scroller').getBoundingClientRect();
      return row && row.top >= list.top && row.bottom <= list.bottom;
    });
    const search = page.getByLabel('Search tools');
    await search.fill('tool_59');
    await page.waitForFunction(() => document.querySelector('.items a .name')?.innerText === 'tool_59');
    seen.best = (await rows.locator('.name').allInnerTexts()).slice(0, 3);
    await search.fill('before do tool_1');
    await page.waitForFunction(() => document.querySelector('.items a .name')?.innerText === 'tool_1');
    await search.fill('nowhere');
    await page.getByText('Nothing matches.').waitFor();
    await search.fill('');
    await page.waitForFunction(() => document.querySelector('.items a .name')?.innerText === 'tool_0');
    await search.press('Escape');
    await page.locator('.items a').first().focus();
    for (let i = 1; i <= 60; i++) { // beyond the rows that the list had
      await page.keyboard.press('j');
      await page.waitForFunction(name => document.activeElement.querySelector('.name')?.innerText === name, `tool_${i}`);
    }
    seen.focused = await page.evaluate(() => document.activeElement.querySelector('.name').innerText);
  },

  async many() {
    const session = await context.newCDPSession(page);
    await session.send('Performance.enable');
    seen.paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    const begun = Date.now();
    await go('#/timeline');
    await page.waitForFunction(() => document.querySelector('.timeline [role=status]')?.innerText.startsWith('100,000 of 100,000'), null, { timeout: 180_000 });
    seen.loaded = Date.now() - begun;
    seen.rows = await page.locator('.message').count();
    seen.longest = await least(2000, () => page.evaluate(async () => {
      const list = document.querySelector('.rows');
      let worst = 0;
      let last = performance.now();
      for (let i = 0; i < 120; i++) {
        list.scrollTop = (i * 7919 % 100) / 100 * list.scrollHeight;
        if (i % 3 === 0) document.querySelector('.chart').dispatchEvent(new WheelEvent('wheel', { deltaY: i < 60 ? -100 : 100, cancelable: true }));
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        worst = Math.max(worst, now - last);
        last = now;
      }
      return worst;
    }));
    const metric = async name => (await session.send('Performance.getMetrics')).metrics.find(one => one.name === name).value;
    seen.heap = await metric('JSHeapUsedSize') / 1048576;
    seen.idle = await least(0.5, async () => { // time that passes in a task counts even if others have the processor
      const before = await metric('TaskDuration');
      await page.waitForTimeout(2000);
      return await metric('TaskDuration') - before;
    });
  },
};

try {
  await page.goto(given.url);
  await ready();
  if (given.script !== 'web.mjs') {
    Object.assign(scenarios, (await import(`./${given.script}`)).default({ given, seen, page, context, go, text, tool, run, shoot, look, everywhere, watch, logged }));
  }
  await scenarios[given.scenario]();
} catch (error) {
  const texts = await Promise.all(page.frames().map(frame => frame.locator('body').innerText({ timeout: 1000 }).catch(String)));
  seen.broken = [...texts.map(one => one.slice(0, 6000)), error.stack].join('\n'); // a summary of the tests has the end
  await shoot('broken');
} finally {
  await page.unrouteAll({ behavior: 'ignoreErrors' }); // a request that is under way would end this program
  await browser.close();
}
console.log(JSON.stringify(seen));
