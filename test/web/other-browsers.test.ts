import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch } from '../src/launch.ts'
import { Person } from '../src/person.ts'
import { click, type DrivenBrowser, keys, point, press, see, type } from './driven-browser.ts'
import { startFirefox, whyNoFirefox } from './firefox.ts'
import { png } from './pictures.ts'
import { startWebKit, whyNoWebKit } from './webkit.ts'

const browsers = [
  ['Firefox', whyNoFirefox, startFirefox],
  ['WebKit', whyNoWebKit, startWebKit],
] as const

const isSea = ({ name }: { name: string }) => name === 'sea'

const box = '.main > .composer textarea'

for (const [engine, whyNot, start] of browsers) {
  const name = `the web client in ${engine}${whyNot === null ? '' : ` (skipped: ${whyNot})`}`
  // The tests follow each other: one person uses one browser, and talks with another one, who uses the API.
  describe.skipIf(whyNot !== null)(name, { timeout: 60_000 }, () => {
    let installation: Installation
    let browser: DrivenBrowser
    let folder: string
    let bob: Person
    let ann: string
    let channel: { id: string }
    let address: string
    beforeAll(async () => {
      ;[installation, browser] = await Promise.all([launch('solo'), start()])
      folder = await mkdtemp(path.join(tmpdir(), 'parley-files-'))
      bob = await Person.signIn(installation.baseUrl, 'bob@example.com')
      channel = await bob.creates({ name: 'harbour' })
      address = `${installation.baseUrl}/c/${channel.id}`
    })
    afterAll(async () => {
      await browser?.close()
      await installation?.discard()
      if (folder) await rm(folder, { recursive: true })
    })

    const say = async (text: string) => {
      await click(browser, box)
      await type(browser, text)
      await press(browser, keys.enter)
      await see(browser, '.main article', text)
    }
    /** Waits until the server has all messages. */
    const isSent = () =>
      expect.poll(() => browser.run(() => document.querySelectorAll('.main .send-state').length)).toBe(0)
    const hasFocus = (selector: string) =>
      expect.poll(() => browser.run((wanted) => document.activeElement!.matches(wanted), selector)).toBe(true)
    const isLive = () =>
      expect
        .poll(() => browser.run(() => document.querySelector('.connection')?.textContent), { timeout: 20_000 })
        .toBe('')

    test('a person signs in, talks, edits, reacts, answers in a thread and shares a file', async () => {
      await browser.open(installation.baseUrl)
      await click(browser, 'input[type=email]')
      await type(browser, 'ann@example.com')
      await press(browser, keys.enter)
      await see(browser, 'button', 'Account')
      ann = await browser.run(() => localStorage['parley.person'])
      await bob.put(`/channels/${channel.id}`, { addMembers: [ann] })
      await browser.open(address)
      await see(browser, 'h1', 'harbour')

      await say('the tide is out')
      await bob.says('and the boats are dry', channel)
      await see(browser, '.main article', 'and the boats are dry')

      await isSent()
      await click(browser, box)
      await press(browser, keys.arrowUp)
      await hasFocus('article textarea')
      await type(browser, ' at noon')
      await press(browser, keys.enter)
      await see(browser, '.main article', 'the tide is out at noon')

      await point(browser, '.main article', 'and the boats are dry')
      await click(browser, 'article button', 'React')
      await see(browser, 'dialog .emoji-list button')
      await hasFocus('dialog input')
      await type(browser, 'sailboat')
      await press(browser, keys.enter)
      await see(browser, 'article button[aria-pressed=true]', '⛵')

      await point(browser, '.main article', 'and the boats are dry')
      await click(browser, 'article button', 'Reply in thread')
      await click(browser, 'aside textarea')
      await type(browser, 'not all of them')
      await press(browser, keys.enter)
      await see(browser, 'aside article', 'not all of them')
      await press(browser, keys.escape)
      await see(browser, '.main article a', '1 reply')

      const file = path.join(folder, 'chart.png')
      await writeFile(file, png(64, 48, [20, 90, 160]))
      await browser.chooseFile('.main > .composer input[type=file]', file)
      await see(browser, '.chosen-file', 'chart.png')
      await click(browser, box)
      await press(browser, keys.enter)
      await isSent()
      // The image moves while the list scrolls to its end, so a pointer could miss it.
      const isShown = () =>
        browser.run(() => {
          const shown = document.querySelector<HTMLImageElement>('dialog[open] img')
          if (!shown) document.querySelector<HTMLElement>('.main .image-button')?.click()
          return shown?.naturalWidth
        })
      await expect.poll(isShown).toBe(64)
      await press(browser, keys.escape)
      await expect.poll(() => browser.run(() => document.querySelectorAll('dialog').length)).toBe(0)
    })

    test('the text box is as high as its text', async () => {
      await click(browser, box)
      const height = () => browser.run((selector) => document.querySelector(selector)!.clientHeight, box)
      const oneLine = await height()
      await type(browser, 'low')
      await press(browser, keys.shift, keys.enter)
      await type(browser, 'water')
      await expect.poll(height).toBeGreaterThan(oneLine + 10)
      await press(browser, keys.enter)
      await see(browser, '.main article', 'low\nwater')
      await expect.poll(height).toBe(oneLine)
    })

    test('a page that is left while it stores messages can be opened again', async () => {
      // The page is left before the pause after which it would store the message.
      await browser.run(() => {
        new MutationObserver(() => {
          if (document.body.innerText.includes('all hands')) location.assign('?again')
        }).observe(document.body, { childList: true, subtree: true })
      })
      await browser.run(() => {
        ;(globalThis as { isOld?: boolean }).isOld = true
      })
      await bob.says('all hands', channel)
      await expect.poll(() => browser.run(() => (globalThis as { isOld?: boolean }).isOld ?? false)).toBe(false)
      await see(browser, '.main article', 'all hands')
      await bob.says('on deck', channel)
      await see(browser, '.main article', 'on deck')
    })

    test('a page to which the person goes back is live, and leads the tabs', async () => {
      await browser.open(`${installation.baseUrl}/openapi.json`)
      await browser.back()
      await see(browser, '.main article', 'on deck')
      await bob.says('welcome back', channel)
      await see(browser, '.main article', 'welcome back')
      const leads = () => browser.run(async () => (await navigator.locks.query()).held!.length)
      await expect.poll(leads).toBe(1)
    })

    test('messages keep their position when a thread opens beside them and when older ones come', async () => {
      // A channel that this browser has never shown, so it has no messages of it.
      const sea = await bob.creates({ name: 'sea' })
      const said: string[] = []
      for (let n = 1; n <= 120; n++) {
        said.push((await bob.says(`wave ${n}. ${'up and down '.repeat(n % 7 === 0 ? 40 : 6)}`, sea)).id)
      }
      await bob.put(`/channels/${sea.id}`, { addMembers: [ann] })
      await browser.open(`${installation.baseUrl}/c/${sea.id}`)
      await see(browser, '.main article', 'wave 120.')
      const movedPx = await browser.run(async () => {
        const list = document.querySelector('.main .feed-scroller')!
        const { fetch } = globalThis
        const asked = Promise.withResolvers<() => void>()
        globalThis.fetch = async (input, init) => {
          const isOlder = String(input instanceof Request ? input.url : input).includes('before=')
          if (isOlder) await new Promise<void>((resolve) => asked.resolve(resolve))
          return fetch(input, init)
        }
        list.scrollTop = 400
        const letThemCome = await asked.promise
        globalThis.fetch = fetch
        const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
        await frames()
        const { top } = list.getBoundingClientRect()
        const read = [...list.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= top)!
        const place = read.getBoundingClientRect().top
        const height = list.scrollHeight
        letThemCome()
        while (list.scrollHeight < height + 500) await frames()
        await frames()
        return Math.abs(read.getBoundingClientRect().top - place)
      })
      expect(movedPx).toBeLessThanOrEqual(1)

      // In the compact density more messages are visible above the one that keeps its place, and some of them become higher beside a thread.
      const read = await browser.run(() => {
        const list = document.querySelector('.main .feed-scroller')!
        const { top } = list.getBoundingClientRect()
        const found = [...list.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= top)!
        document.documentElement.dataset.density = 'compact'
        return found.dataset.message!
      })
      const place = () =>
        browser.run(async (id) => {
          await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
          const { top } = document.querySelector('.main .feed-scroller')!.getBoundingClientRect()
          return document.querySelector(`[data-message="${id}"]`)!.getBoundingClientRect().top - top
        }, read)
      const before = await place()
      await browser.run((thread) => {
        history.pushState(null, '', thread)
        dispatchEvent(new PopStateEvent('popstate'))
      }, `/c/${sea.id}/t/${said[100]}`)
      await see(browser, 'aside textarea')
      expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(1)
    })

    test('what was written during an outage survives a reload, and is sent afterwards', async () => {
      await browser.open(address)
      await see(browser, '.main article', 'welcome back')
      await installation.stop()
      await see(browser, '.connection', 'Reconnecting')
      await click(browser, box)
      await type(browser, 'becalmed')
      await press(browser, keys.enter)
      await see(browser, '.main article', 'becalmed')
      await type(browser, 'half a sentence')
      await browser.open(address)
      await see(browser, '.main article', 'welcome back')
      await see(browser, '.main article', 'becalmed')
      const draft = () => browser.run((selector) => document.querySelector<HTMLTextAreaElement>(selector)!.value, box)
      expect(await draft()).toBe('half a sentence')
      await installation.start()
      await isLive()
      const stored = async () => (await bob.get(`/channels/${channel.id}/messages?limit=1`)).body.messages[0].content
      await expect.poll(stored, { timeout: 20_000 }).toBe('becalmed')
    })

    test('an empty text box shows its placeholder in a right-to-left language', async () => {
      await browser.run(() => localStorage.setItem('parley.preferences', '{"language":"ar"}'))
      await browser.open(address)
      await see(browser, '.main article', 'becalmed')
      const hiddenPx = () =>
        browser.run((selector) => {
          const found = document.querySelector<HTMLTextAreaElement>(selector)!
          found.value = ''
          return found.scrollWidth - found.clientWidth
        }, box)
      expect(await hiddenPx()).toBe(0)
      await browser.run(() => localStorage.removeItem('parley.preferences'))
      await browser.open(address)
      await see(browser, '.main article', 'becalmed')
    })

    test('channels are muted, sections are collapsed, and everything is marked as read', async () => {
      const muted = () =>
        browser.run(() => document.querySelector('.nav-link[aria-current=page]')!.matches('[data-muted]'))
      await click(browser, '.main-head button', 'Mute')
      await expect.poll(muted).toBe(true)
      await click(browser, '.main-head button', 'Unmute')
      await expect.poll(muted).toBe(false)
      const names = () =>
        browser.run(() => [...document.querySelectorAll('nav [role=list]')].map((list) => list.textContent))
      await bob.says('low tide', (await bob.get('/channels')).body.channels.find(isSea))
      await expect.poll(async () => (await names())[0]).toMatch(/sea.*unread/)
      await click(browser, '.section-head h2 button', 'Channels')
      await expect.poll(async () => (await names())[0]).toMatch(/^harboursea.*unread/)
      await click(browser, 'button', 'Account')
      await click(browser, '[role=menuitem]', 'Mark all as read')
      await click(browser, 'dialog button', 'Mark as read')
      await expect.poll(names).toEqual(['harbour', ''])
      await click(browser, '.section-head h2 button', 'Channels')
      await expect.poll(async () => (await names())[0]).toMatch(/General/)
    })

    test('all pages are shown', async () => {
      const admin = await Person.signIn(installation.baseUrl, 'admin@example.com')
      await admin.put(`/users/${ann}/role`, { role: 'admin' })
      const pages = {
        profile: 'Profile',
        security: 'Security',
        sessions: 'Sessions',
        tokens: 'API tokens',
        preferences: 'Preferences',
        threads: 'Threads',
        mentions: 'Mentions',
        saved: 'Saved messages',
        'search?q=tide': 'Search',
        'admin/people': 'People',
        'admin/groups': 'Groups',
        'admin/bots': 'Bots',
        'admin/webhooks': 'Webhooks',
        'admin/subscriptions': 'Subscriptions',
        'admin/commands': 'Commands',
        'admin/sign-in': 'Single sign-on',
        'admin/scim': 'SCIM clients',
        'admin/settings': 'Settings',
        'admin/audit': 'Audit log',
        'admin/export': 'Export',
      }
      for (const [page, heading] of Object.entries(pages)) {
        await browser.open(`${installation.baseUrl}/${page}`)
        await see(browser, '.main[aria-busy=false] h1, .main:not([aria-busy]) h1', heading)
        await see(browser, '.main :is(input, button, a, p, td)')
        expect(await browser.run(() => document.querySelectorAll('[role=alert]').length)).toBe(0)
      }
      await browser.open(address)
      await see(browser, '.main article', 'becalmed')
    })

    test('signing out removes everything from the browser', async () => {
      await click(browser, 'button', 'Account')
      await click(browser, '[role=menuitem]', 'Sign out')
      await see(browser, 'input[type=email]')
      const left = () =>
        browser.run(async () => [
          Object.keys(localStorage).filter((key) => key !== 'parley.preferences'),
          await caches.keys(),
        ])
      await expect.poll(left).toEqual([[], []])
    })

    test('a part of the page that could not be loaded is loaded after an outage', async () => {
      await browser.open(address)
      await click(browser, 'input[type=email]')
      await type(browser, 'ann@example.com')
      await press(browser, keys.enter)
      await see(browser, '.main article', 'becalmed')
      await installation.stop()
      await click(browser, '.main > .composer button', 'Emoji')
      await see(browser, 'dialog input[type=search]')
      await see(browser, '.connection', 'Reconnecting')
      await installation.start()
      await see(browser, 'dialog .emoji-list button')
    })
  })
}
