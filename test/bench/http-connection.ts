import { connect, type Socket } from 'node:net'

export interface HttpReply {
  status: number
  body: string
}

/**
 * One keep-alive connection that carries one request at a time: no more than a load generator needs, because it shares
 * the machine with the servers it measures. Understands replies with a `Content-Length` only.
 */
export class HttpConnection {
  #socket: Socket
  #received = ''
  #waiting: { resolve: (reply: HttpReply) => void; reject: (error: Error) => void } | undefined
  #failure: Error | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#receive(text))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  static open(port: number): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new HttpConnection(socket)))
    })
  }

  send(request: Buffer): Promise<HttpReply> {
    if (this.#failure) return Promise.reject(this.#failure)
    if (this.#waiting) return Promise.reject(new Error('a connection carries one request at a time'))
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request)
    })
  }

  get isOpen() {
    return this.#failure === undefined
  }

  close() {
    this.#failure ??= new Error('closed')
    this.#socket.destroy()
  }

  #receive(text: string) {
    this.#received = this.#received === '' ? text : this.#received + text
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = contentLength.exec(this.#received)
    if (!length) return this.#fail(new Error(`a reply without a length: ${this.#received.slice(0, headEnd)}`))
    const end = headEnd + 4 + Number(length[1])
    if (this.#received.length < end) return

    const response = { status: Number(this.#received.slice(9, 12)), body: this.#received.slice(headEnd + 4, end) }
    this.#received = ''
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.resolve(response)
  }

  #fail(error: Error) {
    this.#failure ??= error
    this.#waiting?.reject(error)
    this.#waiting = undefined
    this.#socket.destroy()
  }
}

const contentLength = /\r\ncontent-length: (\d+)/i

/** The bytes of any request, with a body of JSON or without one. */
export function requestOf(method: string, path: string, headers: Record<string, string>, body?: object): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body)
  const of = json === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }
  const lines = Object.entries({ host: '127.0.0.1', ...of, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${json}`)
}

/** The bytes of a POST of JSON text, ready to be sent any number of times. */
export function postOf(path: string, json: string, headers: Record<string, string> = {}): Buffer {
  const all = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${json}`)
}

/** Keep-alive connections to one server, as many as are needed at the same time. */
export interface ConnectionPool {
  send(request: Buffer): Promise<HttpReply>
  close(): void
}

export function openPool(port: number): ConnectionPool {
  const all = new Set<HttpConnection>()
  const idle: HttpConnection[] = []
  return {
    async send(request) {
      let connection = idle.pop()
      // A server that has restarted has closed the idle connections.
      while (connection && !connection.isOpen) {
        all.delete(connection)
        connection = idle.pop()
      }
      connection ??= await HttpConnection.open(port)
      all.add(connection)
      const response = await connection.send(request)
      idle.push(connection)
      return response
    },
    close() {
      for (const connection of all) connection.close()
    },
  }
}
