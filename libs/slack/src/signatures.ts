import { createHmac } from 'node:crypto'

/** The headers by which a program knows that a body comes from this server, as Slack signs requests (version v0). */
export function slackSignature(secret: string, body: string, now: number): Record<string, string> {
  const seconds = Math.floor(now / 1_000)
  const digest = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': `v0=${digest}` }
}
