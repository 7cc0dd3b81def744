import { sendRefusal, webhookForm, webhookRefusal } from '@parley/service'
import { InvalidBlocks } from '@parley/slack'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { Type } from 'typebox'

export const plainText = Type.String({ description: 'One word, text/plain' })

/** Reads a body of any content type as text. Many programs send JSON with another type; `curl -d` declares a form. */
export function takeAnyText(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
}

/** Makes the routes of this app respond to refused requests with one word. */
export function refuseInPlainText(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => {
    const refusal = error instanceof InvalidBlocks ? webhookRefusal(400, 'invalid_blocks') : error
    return sendRefusal(refusal, request, reply, webhookForm)
  })
}

/** Responds like Slack to a request that was carried out. */
export const sendOk = (reply: FastifyReply) => reply.type('text/plain; charset=utf-8').serializer(String).send('ok')
