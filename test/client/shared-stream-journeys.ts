import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { ClientServer } from './journeys.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) => existsSync(file))
const tabs = 8

/** A page that loads the library without its types, and keeps the events of its tab. */
const pageText = `<!doctype html><script type="importmap">
{"imports": {"@parley/client": "/libs/client/index.ts", "idb": "/idb/index.js"}}
</script><script type="module">
import { createClient, joinTabs, tokensInStorage } from '@parley/client'
const client = createClient({ baseUrl: location.hash.slice(1), tokens: tokensInStorage(localStorage) })
window.heard = []
window.opened = []
window.parley = client
window.stream = client.openSharedStream(joinTabs('ann'), {
  onOpen: ({ resumed }) => opened.push(resumed),
  onEvent: (event) => { if (event.type === 'NEW_MESSAGE') heard.push(event.payload.content) },
})
</script>`

/** The server of the page. */
export interface Pages {
  origin: string
  close(): void
}

export async function openPages(): Promise<Pages> {
  const pages = createServer(async ({ url = '' }, response) => {
    const answer = (type: string, text: string) => response.writeHead(200, { 'content-type': type }).end(text)
    const [, area, file] = /^\/(libs\/client|idb)\/([\w./-]+)$/.exec(url) ?? []
    if (!file || file.includes('..')) return answer('text/html', pageText)
    if (area === 'libs/client') {
      const source = await readFile(path.resolve(import.meta.dirname, '../../libs/client/src', file), 'utf8')
      return answer('text/javascript', stripTypeScriptTypes(source))
    }
    const library = path.dirname(fileURLToPath(import.meta.resolve(area!)))
    return answer('text/javascript', await readFile(path.join(library, file), 'utf8'))
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(pages.address() as AddressInfo).port}`,
    close: () => void pages.close(),
  }
}

/** `server` must allow the origin of the pages. */
export function sharedStreamJourneys(server: ClientServer, pages: Pages) {
  const why = executablePath ? '' : ' (skipped: no Chromium on this machine)'
  describe.skipIf(!executablePath)(`a stream that the tabs of a browser share${why}`, () => {
    test('is one connection for all tabs, and another tab opens it when the leader is closed', async () => {
      await using browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
      const context = await browser.newContext()
      const { ann, bob } = server.people
      const tokens = JSON.stringify({ accessToken: ann.token, refreshToken: ann.refreshToken })
      await context.addInitScript((text) => localStorage.setItem('parley.tokens', text), tokens)

      const open: Page[] = []
      let streams = 0
      context.on('request', (request) => {
        if (request.url().endsWith('/events') && request.method() === 'GET') streams++
      })
      for (let tab = 0; tab < tabs; tab++) {
        const page = await context.newPage()
        await page.goto(`${pages.origin}/#${server.baseUrl}`)
        await page.waitForFunction('window.opened?.length > 0')
        open.push(page)
      }
      expect(streams).toBe(1)

      // With HTTP/1.1 a browser has only six connections. With a stream for each tab no other request would get a
      // reply.
      const names = await Promise.all(
        open.map((page) => page.evaluate(`parley.request('GET /auth/me').then(({ user }) => user.userName)`)),
      )
      expect(names).toEqual(open.map(() => ann.userName))

      const said: string[] = []
      let isClosed = false
      const talking = (async () => {
        for (let n = 0; n < 200 || !isClosed; n++) said.push((await bob.says(`no. ${n}`, server.channel.open)).content)
      })()
      const [leader, ...others] = open as [Page, ...Page[]]
      await others[0]!.waitForFunction('heard.length > 40')
      await leader.close()
      isClosed = true
      await talking

      for (const page of others) {
        await page.waitForFunction(`heard.length >= ${said.length}`)
        expect(await page.evaluate('heard')).toEqual(said)
        expect(await page.evaluate('opened.slice(1)')).not.toContain(false)
      }
      expect(streams).toBe(2)
      // Eight pages of a browser need a minute on a busy machine.
    }, 180_000)

    test('follows the channels that a tab watches until the tab is hidden, and again when it is shown', async () => {
      await using browser = await chromium.launch({ executablePath: executablePath!, args: ['--no-sandbox'] })
      const context = await browser.newContext()
      const { ann } = server.people
      const tokens = JSON.stringify({ accessToken: ann.token, refreshToken: ann.refreshToken })
      await context.addInitScript((text) => localStorage.setItem('parley.tokens', text), tokens)
      const watched: (string | null)[] = []
      context.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url())
        if (pathname === '/events' && request.method() === 'GET') watched.push(searchParams.get('watch'))
      })
      const [leader, other] = [await context.newPage(), await context.newPage()]
      for (const page of [leader, other]) {
        await page.goto(`${pages.origin}/#${server.baseUrl}`)
        await page.waitForFunction('window.opened?.length > 0')
      }
      const { id } = server.channel.open
      await other.evaluate(`stream.watch(['${id}'])`)
      expect(watched.at(-1)).toBe(id)
      await other.evaluate(`dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))`)
      await expect.poll(() => watched.at(-1)).toBe(null)
      await other.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
      await expect.poll(() => watched.at(-1)).toBe(id)
      await other.goto('about:blank')
      await expect.poll(() => watched.at(-1)).toBe(null)
    }, 60_000)
  })
}
