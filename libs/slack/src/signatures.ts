import { createHmac } from 'node:crypto'

/** The headers with which a program verifies that a request comes from this server, in Slack's format (version v0). */
export function slackSignature(secret: string, body: string, now: number): Record<string, string> {
  const seconds = Math.floor(now / 1_000)
  const digest = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': `v0=${digest}` }
}
