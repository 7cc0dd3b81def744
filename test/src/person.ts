import type { Attachment, Channel, Message } from '@parley/contract'
import { request } from 'undici'
import { EventStream } from './event-stream.ts'

export interface HttpResponse {
  status: number
  // Tests read bodies of every shape; a separate test checks the contract.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  body: any
  headers: Record<string, string | string[] | undefined>
}

/** The fields of a `User` who has just been added, except id, name and address. */
export const newMember = {
  displayName: null,
  title: null,
  role: 'member',
  isAdmin: false,
  isActive: true,
  isBot: false,
  avatarVersion: null,
  customStatus: null,
  expiresAt: null,
} as const

/** A response with its bytes. */
export interface Download extends Omit<HttpResponse, 'body'> {
  bytes: Buffer
}

/** A person who uses the server over HTTP, in tests of one process and of a cluster. */
export class Person {
  readonly baseUrl: string
  readonly id: string
  readonly userName: string
  token: string | undefined
  refreshToken: string | undefined

  constructor(baseUrl: string, user: { id: string; userName: string }, token?: string, refreshToken?: string) {
    this.baseUrl = baseUrl
    this.id = user.id
    this.userName = user.userName
    this.token = token
    this.refreshToken = refreshToken
  }

  /** Signs in through the development mode. */
  static async signIn(baseUrl: string, email: string): Promise<Person> {
    const nobody = Person.nobody(baseUrl)
    const { status, body } = await nobody.post('/auth/dev-login', { email })
    if (status !== 200) throw new Error(`cannot sign in ${email}: ${status} ${JSON.stringify(body)}`)
    return new Person(baseUrl, body.user, body.token, body.refreshToken)
  }

  /** A person without credentials. */
  static nobody = (baseUrl: string) => new Person(baseUrl, { id: '', userName: 'nobody' })

  get = (path: string, headers = {}) => this.#send('GET', path, undefined, headers)
  post = (path: string, body?: unknown, headers = {}) => this.#send('POST', path, body, headers)
  put = (path: string, body?: unknown, headers = {}) => this.#send('PUT', path, body, headers)
  delete = (path: string, body?: unknown, headers = {}) => this.#send('DELETE', path, body, headers)

  /** Sends a text that must be accepted. */
  says = (content: string, channel: Pick<Channel, 'id'>, headers = {}): Promise<Message> =>
    this.sends(channel, { content }, headers)

  /** Sends a message that must be accepted. */
  async sends(
    channel: Pick<Channel, 'id'>,
    message: { content?: string; attachments?: Attachment[]; images?: string[] },
    headers = {},
  ): Promise<Message> {
    const { status, body } = await this.post(`/channels/${channel.id}/messages`, { content: '', ...message }, headers)
    if (status !== 200) throw new Error(`message refused: ${status} ${JSON.stringify(body)}`)
    return body.message
  }

  /** Reads the messages or replies of a place to the beginning, oldest first. Every page must be returned. */
  async readsAll(place: string, field: 'messages' | 'replies' = 'messages'): Promise<Message[]> {
    const all: Message[] = []
    for (let page: Message[] | undefined; page === undefined || page.length > 0; ) {
      const before: string = all.length > 0 ? `&before=${all[0]!.id}` : ''
      const { status, body } = await this.get(`${place}?limit=200${before}`)
      if (status !== 200) throw new Error(`${place} cannot be read: ${status} ${JSON.stringify(body)}`)
      page = body[field] as Message[]
      all.unshift(...page)
    }
    return all
  }

  /** Creates a channel that must be accepted. */
  async creates(channel: { name: string; isPrivate?: boolean; members?: string[]; topic?: string }): Promise<Channel> {
    const { status, body } = await this.post('/channels', channel)
    if (status !== 200) throw new Error(`channel refused: ${status} ${JSON.stringify(body)}`)
    return body.channel
  }

  /** Uploads a file that must be accepted. */
  async uploads(filename: string, bytes: Buffer | string): Promise<Attachment> {
    const file = Buffer.from(bytes as string).toString('base64')
    const { status, body } = await this.post('/files', { filename, file, contentType: 'application/octet-stream' })
    if (status !== 200) throw new Error(`file refused: ${status} ${JSON.stringify(body)}`)
    return body.attachment
  }

  /** Uploads an image that must be accepted to a channel, a conversation or a thread; returns its name. */
  async uploadsImage(to: string, filename: string, bytes: Buffer, thumbnail?: Buffer): Promise<string> {
    const image = bytes.toString('base64')
    const body = { filename, image, ...(thumbnail && { thumbnail: thumbnail.toString('base64') }) }
    const response = await this.post(`${to}/image`, body)
    if (response.status !== 200) throw new Error(`image refused: ${response.status} ${JSON.stringify(response.body)}`)
    return response.body.filename
  }

  async downloads(path: string, headers = {}, method: 'GET' | 'HEAD' = 'GET'): Promise<Download> {
    const authorization = this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }
    const response = await request(this.baseUrl + path, { method, headers: { ...authorization, ...headers } })
    const bytes = Buffer.from(await response.body.arrayBuffer())
    return { status: response.statusCode, bytes, headers: response.headers }
  }

  opensStream = (lastEventId?: string, query: Record<string, string> = {}) =>
    EventStream.open({ baseUrl: this.baseUrl, token: this.token ?? '', query, ...(lastEventId && { lastEventId }) })

  async #send(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body: unknown,
    headers: object,
  ): Promise<HttpResponse> {
    const response = await request(this.baseUrl + path, {
      method,
      headers: {
        ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.body.text()
    const isJson = String(response.headers['content-type']).includes('json')
    return { status: response.statusCode, body: isJson ? JSON.parse(text) : text, headers: response.headers }
  }
}
