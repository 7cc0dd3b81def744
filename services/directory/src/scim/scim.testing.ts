import type { TestEnvironment } from '@parley/test/test-environment'
import { request } from 'undici'
import { beforeAll } from 'vitest'

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
type ScimResponse = { status: number; body: any; headers: Record<string, unknown> }

/** A directory that has a token for the server of a test file. */
export function scimClient(environment: TestEnvironment) {
  let token: string
  beforeAll(async () => {
    const { body } = await environment.people.ada.post('/admin/scim-clients', { name: 'Entra' })
    token = body.token
  })

  /** Sends a request. A buffer is sent as it is, everything else as JSON. */
  async function scim(method: string, path: string, body?: unknown, headers: object = {}): Promise<ScimResponse> {
    const response = await request(`${environment.baseUrl}/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json', ...headers },
      body: body === undefined ? null : Buffer.isBuffer(body) ? body : JSON.stringify(body),
    } as Parameters<typeof request>[1])
    const text = await response.body.text()
    return { status: response.statusCode, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
  }

  const filtered = (filter: string, path = '/Users') => scim('GET', `${path}?${new URLSearchParams({ filter })}`)
  return { scim, filtered }
}

export const newUser = (userName: string, more: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  userName,
  ...more,
})

export const newGroup = (displayName: string, more: object = {}) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName,
  ...more,
})

export const patch = (...Operations: object[]) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
})
