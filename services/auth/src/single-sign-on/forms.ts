import { invalid } from '@parley/contract'
import type { FastifyInstance } from 'fastify'

/**
 * Reads the bodies of these routes as forms. Providers post forms, and so do browsers that come from providers. A form
 * with a field twice is refused, because two programs could read different values.
 */
export function readForms(app: FastifyInstance, { maxBytes }: { maxBytes: number }): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxBytes },
    (_request, body, done) => {
      const form = new URLSearchParams(body)
      const names = [...form.keys()]
      if (new Set(names).size < names.length) return done(invalid('The form has a field twice'))
      done(null, Object.fromEntries(form))
    },
  )
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(invalid('Please send a form, with the header Content-Type: application/x-www-form-urlencoded'))
  })
}
