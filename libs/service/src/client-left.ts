import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

/** The client closed its connection: there is nobody to answer, and no fault to report. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'

  constructor() {
    super('the client closed the connection')
  }
}

/** Whether an error only says that the client closed its connection. */
export const isClientLeft = (error: Error, { raw }: FastifyRequest): boolean =>
  error instanceof ClientLeft || (raw.destroyed && (error as NodeJS.ErrnoException).code === 'ECONNRESET')

/** What Fastify itself says of replies that break off. People close pages all day, so that is said for debugging only. */
export class LogClientsThatLeft extends LogController {
  constructor() {
    super({ disableRequestLogging: true })
  }

  override streamError(err: Error, request: FastifyRequest, reply: FastifyReply): void {
    const facts = { requestId: request.id, route: request.routeOptions.url }
    if (reply.raw.destroyed) {
      request.log.debug(facts, 'the client left before the end of its reply')
    } else {
      request.log.warn({ err, ...facts }, 'a reply broke off')
    }
  }
}
