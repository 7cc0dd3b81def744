import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { addVary, distinguishPages, onlyForPages, pageAddresses, pathOf } from '@parley/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { pageDirectory } from './build.ts'

/**
 * Allows no inline script or style, nothing from other origins, and no text that becomes script. The only Trusted Types
 * policy is for the addresses of the page's own workers.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src 'self' blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types parley-workers',
].join('; ')

/** The service worker may fetch only the files of the page. */
const workerPolicy = "default-src 'none'; connect-src 'self'"

const yearMs = 31_536_000_000
const open = { config: { access: 'none', isWebClient: true }, schema: { hide: true } } as const

/** The addresses that people type or shorten, and the pages that they mean. */
const shortAddresses: Record<string, string> = { '/admin': '/admin/people', '/c': '/' }

/** The address to which a browser is redirected. Undefined for the address of a page, and for an unknown one. */
function redirectionOf(pathname: string): string | undefined {
  let end = pathname.length
  while (pathname[end - 1] === '/') end--
  const address = pathname.slice(0, end)
  if (address in shortAddresses) return shortAddresses[address]
  if (address === pathname) return undefined
  // An unknown address is not redirected. For a browser, `//example.com` would be another server.
  const isKnown = address.startsWith('/c/') || pageAddresses.some((one) => one === address)
  return isKnown ? address : undefined
}

/** Redirects a browser that opened an incomplete address, or one with slashes at its end. */
async function redirectToPage({ url }: FastifyRequest, reply: FastifyReply) {
  addVary(reply, 'Accept')
  const pathname = pathOf(url)
  const target = redirectionOf(pathname)
  return target === undefined ? undefined : reply.redirect(target + url.slice(pathname.length))
}

/**
 * The web client: one page for all its addresses, and the other files. Browsers revalidate the page at each visit. The names of the assets
 * change with their content, so browsers cache them for a year. At every other address outside of the API a browser gets the page with the
 * status 404, and the page says that there is no such page.
 * @throws Error when the page was not built.
 */
export const web = (): FastifyPluginAsyncTypebox => async (app) => {
  const page = await readFile(join(pageDirectory, 'index.html'), 'utf8').catch((cause) => {
    throw new Error(`The web client is not built in ${pageDirectory}`, { cause })
  })
  distinguishPages(app)
  await app.register(files, { root: pageDirectory, serve: false, preCompressed: true })

  const forPage = { ...open, constraints: onlyForPages, onRequest: redirectToPage }
  for (const address of pageAddresses) {
    app.get(address, forPage, (_request, reply) =>
      reply
        .headers({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache' })
        .sendFile('index.html', { cacheControl: false }),
    )
  }
  // Not `sendFile`, which would respond with 304 to a browser that has the page already (RFC 9110, 13.2.1).
  app.get('/*', forPage, (_request, reply) =>
    reply
      .code(404)
      .headers({ 'content-security-policy': contentSecurityPolicy })
      .type('text/html; charset=utf-8')
      .send(page),
  )
  app.get<{ Params: { '*': string } }>('/assets/*', open, ({ params }, reply) =>
    reply.sendFile(`assets/${params['*']}`, { maxAge: yearMs, immutable: true }),
  )
  app.get<{ Params: { '*': string } }>('/icons/*', open, ({ params }, reply) =>
    reply.header('cache-control', 'no-cache').sendFile(`icons/${params['*']}`, { cacheControl: false }),
  )
  for (const file of ['icon.svg', 'manifest.webmanifest', 'worker.js']) {
    app.get(`/${file}`, open, (_request, reply) =>
      reply
        .headers({
          'cache-control': 'no-cache',
          ...(file === 'worker.js' && { 'content-security-policy': workerPolicy }),
        })
        .sendFile(file, { cacheControl: false }),
    )
  }
}
