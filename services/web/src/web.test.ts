import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { apiAddresses, buildApp, openDeps, pageAddresses, pageFiles } from '@parley/service'
import { configWithoutServers } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isPageAddress, isPageFile } from '../worker/addresses.ts'
import { buildPage, listSources, pageDirectory } from './build.ts'
import { web } from './service.ts'

type App = Awaited<ReturnType<typeof buildApp>>['fastify']

let app: App
let close: () => Promise<unknown>

beforeAll(async () => {
  await buildPage()
  const opened = openDeps('web', await configWithoutServers({}))
  close = opened.close
  ;({ fastify: app } = await buildApp({ deps: opened.deps, position: 'inside', checks: {} }))
  await app.register(web())
})
afterAll(async () => {
  await app.close()
  await close()
})

const open = (url: string, headers: Record<string, string> = {}) =>
  app.inject({ url, headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8', ...headers } })

describe('the page', () => {
  test.each(['/', '/c/some-id', '/c/some-id/m/other', '/search?q=word', '/admin/export', '/reset?token=x'])(
    'is answered at %s to a browser',
    async (url) => {
      const response = await open(url)
      expect(response.statusCode).toBe(200)
      expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(response.body).toContain('<div id="app">')
      expect(response.headers['cache-control']).toBe('no-cache')
      expect(response.headers.vary).toContain('Accept')
    },
  )

  test('is sent only to clients that accept HTML; others get the response of the API', async () => {
    expect((await app.inject({ url: '/c/some-id', headers: { accept: 'application/json' } })).statusCode).toBe(404)
  })

  test('may load only its own files, and cannot turn text into script', async () => {
    const policy = String((await open('/')).headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|https:|data:/)
  })

  test('begins with a classic script, which has all exports that the other parts import', async () => {
    const { body } = await open('/')
    expect(body).not.toContain('type="module"')
    const file = (name: string) => readFileSync(`${pageDirectory}/assets/${name}`, 'utf8')
    const first = file(/<script defer src="\/assets\/([^"]+)"/.exec(body)![1]!)
    expect(() => new Script(first)).not.toThrow()
    const left = /self\.parleyFirstView=\{([^}]*)\}/
      .exec(first)![1]!
      .split(',')
      .map((item) => item.split(':')[0])
    const taken = globSync('assets/*.js', { cwd: pageDirectory }).flatMap((name) =>
      [
        ...readFileSync(`${pageDirectory}/${name}`, 'utf8').matchAll(/import\s*\{([^}]*)\}\s*from\s*"\.\/index-/g),
      ].flatMap(([, list]) => list!.split(',').map((item) => item.trim().split(' ')[0])),
    )
    expect(taken.length).toBeGreaterThan(20)
    expect(taken.filter((name) => !left.includes(name))).toEqual([])
  })

  test('has no inline script or style', async () => {
    const { body } = await open('/')
    expect(body).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)| on\w+=/)
  })

  test('is revalidated at each visit, and not sent again when it has not changed', async () => {
    const { etag } = (await open('/')).headers
    expect((await open('/', { 'if-none-match': String(etag) })).statusCode).toBe(304)
  })
})

describe('an address without a page', () => {
  test.each([
    ['/admin', '/admin/people'],
    ['/admin/', '/admin/people'],
    ['/c', '/'],
    ['/c/', '/'],
    ['/c/some-id///', '/c/some-id'],
    ['/profile/', '/profile'],
    ['/admin/audit/', '/admin/audit'],
    ['/c/some-id/m/other/', '/c/some-id/m/other'],
    ['/search/?q=word', '/search?q=word'],
  ])('%s leads to %s', async (url, target) => {
    const { statusCode, headers } = await open(url)
    expect([statusCode, headers.location]).toEqual([302, target])
    expect(headers.vary).toContain('Accept')
  })

  test.each([
    '/nothing',
    '/nothing/',
    '/profile/nothing',
    '/admin/nothing',
    '///',
    '//example.com/',
    '/authors',
    '/server.html',
    '/%',
    '/c/%',
    '/c/%zz/m/x?at=1',
    '/%E0%A4%A',
    '/%FF/',
  ])('is the page with the status 404 to a browser: %s', async (url) => {
    const response = await open(url)
    expect([response.statusCode, response.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(response.body).toBe((await open('/')).body)
    expect(response.headers['content-security-policy']).toBe((await open('/')).headers['content-security-policy'])
    expect(response.headers.vary).toContain('Accept')
  })

  test('has no response 304, because that would be one of 200', async () => {
    const { etag } = (await open('/')).headers
    expect((await open('/nothing', { 'if-none-match': String(etag) })).statusCode).toBe(404)
  })

  test('is a refusal of the API to all other clients, to other methods, and below the addresses of the API', async () => {
    const accept = 'text/html'
    const responses = await Promise.all([
      app.inject('/nothing'),
      app.inject({ url: '/admin', headers: { accept: 'application/json' } }),
      app.inject({ url: '/nothing', method: 'POST', headers: { accept } }),
      ...apiAddresses.map((address) => app.inject({ url: `${address}/un/known?at=/`, headers: { accept } })),
    ])
    for (const response of responses)
      expect([response.statusCode, response.json()]).toMatchObject([404, { code: 'not_found' }])
  })

  test('with an invalid escape is a refusal of the API to all other clients, and below the addresses of the API', async () => {
    const responses = await Promise.all([
      app.inject('/c/%'),
      app.inject({ url: '/%E0%A4%A', headers: { accept: 'application/json' } }),
      open('/channels/%'),
    ])
    for (const response of responses)
      expect([response.statusCode, response.json().code]).toEqual([400, 'invalid_request'])
  })
})

describe('its files', () => {
  const script = async () => /src="(\/assets\/[^"]+\.js)"/.exec((await open('/')).body)![1]!

  test('are cached for a year, because their names change with their content', async () => {
    const response = await app.inject(await script())
    expect([response.statusCode, response.headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ])
  })

  test.each(['br', 'gzip'])('are sent as %s', async (encoding) => {
    const response = await app.inject({ url: await script(), headers: { 'accept-encoding': encoding } })
    expect(response.headers['content-encoding']).toBe(encoding)
    expect(response.rawPayload.length).toBeLessThan(78 * 1024)
  })

  test.each(['/assets/none.js', '/assets/../package.json', '/assets/'])(
    'are all there is: %s is not found',
    async (url) => {
      expect((await app.inject(url)).statusCode).toBe(404)
    },
  )
})

describe('budgets, compressed by gzip', () => {
  const sizeOf = (name: string) => gzipSync(readFileSync(`${pageDirectory}/${name}`), { level: 9 }).length
  const sum = (names: string[]) => names.reduce((total, name) => total + sizeOf(name), 0)
  const page = () => readFileSync(`${pageDirectory}/index.html`, 'utf8')
  const first = (extension: string) =>
    [...page().matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)]
      .map(([, name]) => name!)
      .filter((name) => name.endsWith(extension))

  test('a first view loads at most 78 KB of script and 15 KB of styles, in three requests', () => {
    expect(first('.js')).not.toEqual([])
    expect(sum(first('.js'))).toBeLessThanOrEqual(78 * 1024)
    expect(sum(first('.css'))).toBeLessThanOrEqual(15 * 1024)
    expect([...first('.js'), ...first('.css')].length).toBeLessThanOrEqual(2)
  })

  test('neither the page nor its styles name a font, because the browser would request it for the first letter', () => {
    const [styles] = first('.css')
    expect(page() + readFileSync(`${pageDirectory}/${styles}`, 'utf8')).not.toContain('woff2')
  })

  test('there is one file of styles, so later parts load no further styles', () => {
    expect(globSync('assets/*.css', { cwd: pageDirectory })).toEqual(first('.css'))
  })

  test('no part that is loaded later has more than 60 KB', () => {
    const later = globSync('assets/*.js', { cwd: pageDirectory }).filter((name) => !first('.js').includes(name))
    expect(later.filter((name) => sizeOf(name) > 60 * 1024)).toEqual([])
    // The list of emoji and the languages do not belong to the first view.
    expect(later.length).toBeGreaterThan(2)
  })
})

describe('the service worker', () => {
  test('is revalidated each time, and may fetch only from its own origin', async () => {
    const { statusCode, headers } = await app.inject('/worker.js')
    expect([statusCode, headers['cache-control']]).toEqual([200, 'no-cache'])
    expect(headers['content-type']).toContain('javascript')
    expect(headers['content-security-policy']).toBe("default-src 'none'; connect-src 'self'")
  })

  test('responds to requests for the page and its files, but to no request for the API', () => {
    const filled = (path: string) => path.replace('*', 'x')
    expect(pageAddresses.map(filled).filter((path) => !isPageAddress(path))).toEqual([])
    // The browser itself fetches the script of the service worker.
    expect(pageFiles.map(filled).filter((path) => !isPageFile(path))).toEqual(['/worker.js'])
    for (const path of [
      '/docs',
      '/openapi.json',
      '/auth/oauth/x',
      '/files/x',
      '/channels',
      '/admin/exports/x/download',
      // The server redirects these, or sends the page with the status 404.
      '/admin',
      '/c',
      '/c/',
      '/c/x/',
      '/profile/',
      '/nothing',
    ]) {
      expect([path, isPageAddress(path) || isPageFile(path)]).toEqual([path, false])
    }
  })

  test('caches the files of a first view, and the font part that most texts need', async () => {
    const { body } = await app.inject('/worker.js')
    const [, script] = /src="(\/assets\/[^"]+)"/.exec((await open('/')).body)!
    expect(body).toContain(script)
    const [letters] = /\/assets\/inter-latin-wght-normal-[\w-]+\.woff2/.exec(body)!
    expect((await app.inject(letters!)).headers['content-type']).toBe('font/woff2')
  })
})

test.each([
  '/manifest.webmanifest',
  '/icons/192.png',
  '/icons/512.png',
  '/icons/maskable.png',
  '/icons/apple-touch.png',
])('%s is there, so that the page can be installed', async (file) => {
  expect((await app.inject(file)).statusCode).toBe(200)
})

test('no address gives access to files outside of the folder', async () => {
  const { statusCode } = await app.inject('/assets/%2e%2e%2findex.html')
  expect(statusCode).toBe(400)
})

test('the page is not built again when its sources have not changed', async () => {
  expect(await buildPage()).toBe('unchanged')
})

test('the page is built again when a lib that it imports or the version of a package has changed', async () => {
  const sources = await listSources()
  const text = sources.filter((file) => /\/web\/(page|worker)\//.test(file)).map((file) => readFileSync(file, 'utf8'))
  const imported = new Set(text.flatMap((each) => each.match(/(?<=from '@parley\/)[a-z-]+(?=')/g) ?? []))
  expect(imported).toContain('client')
  const root = new URL('../../../', import.meta.url)
  const needed = [...[...imported].map((lib) => `libs/${lib}/src/index.ts`), 'package-lock.json']
  expect(needed.filter((file) => !sources.includes(fileURLToPath(new URL(file, root))))).toEqual([])
})

test.each(['de', 'ar'])('every text is translated to %s', (language) => {
  const read = (name: string) =>
    JSON.parse(readFileSync(new URL(`../page/texts/${name}.json`, import.meta.url), 'utf8')) as Record<string, string>
  expect(Object.keys(read(language))).toEqual(Object.keys(read('en')))
  expect(Object.values(read(language)).filter((text) => text === '')).toEqual([])
})

test('en.json lists the texts of the page', () => {
  const page = new URL('../page/', import.meta.url)
  const used = new Set<string>()
  for (const file of globSync('**/*.{ts,tsx}', { cwd: page })) {
    for (const [, text] of readFileSync(new URL(file, page), 'utf8').matchAll(/\bt\(\s*'((?:[^'\\]|\\.)*)'/g)) {
      used.add(text!.replaceAll("\\'", "'"))
    }
  }
  const listed = JSON.parse(readFileSync(new URL('texts/en.json', page), 'utf8')) as Record<string, string>
  expect(Object.keys(listed).sort()).toEqual([...used].sort())
})
