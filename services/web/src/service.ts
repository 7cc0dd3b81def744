import { existsSync } from 'node:fs'
import { join } from 'node:path'
import files from '@fastify/static'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { distinguishPages, onlyForPages, pageAddresses } from '@parley/service'
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

/**
 * The web client: one page for all its addresses, and the other files. Browsers revalidate the page at each visit. The names of the assets
 * change with their content, so browsers cache them for a year.
 * @throws Error when the page was not built.
 */
export const web = (): FastifyPluginAsyncTypebox => async (app) => {
  if (!existsSync(join(pageDirectory, 'index.html'))) throw new Error(`The web client is not built in ${pageDirectory}`)
  distinguishPages(app)
  await app.register(files, { root: pageDirectory, serve: false, preCompressed: true })

  for (const address of pageAddresses) {
    app.get(address, { ...open, constraints: onlyForPages }, (_request, reply) =>
      reply
        .headers({ 'content-security-policy': contentSecurityPolicy, 'cache-control': 'no-cache', vary: 'Accept' })
        .sendFile('index.html', { cacheControl: false }),
    )
  }
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
