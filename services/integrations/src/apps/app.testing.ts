import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request that the app received. */
export interface Sent {
  headers: IncomingHttpHeaders
  body: string
  /** The fields of a form. */
  form: Record<string, string>
}

type Answer = string | number | object | undefined

/** Starts the HTTP server of an app. It keeps all requests, and answers with what `answer` returns. */
export async function startsApp(answer: (sent: Sent) => Answer | Promise<Answer> = () => '') {
  const sent: Sent[] = []
  const control = { answer }
  const server = createServer(async (request, response: ServerResponse) => {
    const body = await text(request)
    const each = { headers: request.headers, body, form: Object.fromEntries(new URLSearchParams(body)) }
    sent.push(each)
    const given = await control.answer(each)
    // Undefined: the app never answers.
    if (given === undefined) return
    if (typeof given === 'number') response.writeHead(given, { location: 'http://127.0.0.1:1/' }).end()
    else if (typeof given === 'string') response.end(given)
    else if (given instanceof Response) response.writeHead(given.status, Object.fromEntries(given.headers)).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { sent, control, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}
