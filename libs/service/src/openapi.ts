import swagger from '@fastify/swagger'
import { ErrorBody } from '@parley/contract'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { type Access, tokenScopeOf } from './identify.ts'
import type { RequestSchema } from './validation.ts'

/** Collects the OpenAPI 3.1 description of the routes that are registered later. `app.swagger()` returns it. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Parley',
        description:
          'Team chat: channels, messages, threads, direct messages, webhooks and a resumable event stream.\n\n' +
          'In the body of a request, `null` in an optional field counts as absent. In a required field it is refused ' +
          '(400). Unknown fields are ignored, and an empty body counts as `{}`. Whole numbers in the query are ' +
          'written in digits. Every refusal is `{error, code, requestId}`.',
        version: '1',
      },
      components: {
        schemas: { Error: ErrorBody },
        responses: refusalResponses(),
        securitySchemes: {
          accessToken: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description:
              'An access token or an API token. `x-token-scope` is the scope that an API token needs. With `none` no API token is accepted',
          },
          sessionCookie: {
            type: 'apiKey',
            in: 'cookie',
            name: 'parley_session',
            description: 'With the header `X-Parley-Session: cookie`. On https its name is `__Secure-parley_session`',
          },
          webhookToken: { type: 'http', scheme: 'bearer', description: 'The token of the webhook that posts' },
          appPass: {
            type: 'http',
            scheme: 'bearer',
            description: 'A pass that the service `integrations` writes for an app',
          },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const described: FastifySchema = schema ?? {}
      const access = route.config?.access ?? 'user'
      return {
        url: url.replace(/(?<=.)\/$/, ''),
        schema: {
          ...described,
          ...(described.body !== undefined && { body: withNulls(described.body as RequestSchema) }),
          ...(described.querystring !== undefined && {
            querystring: withDefaults(described.querystring as RequestSchema),
          }),
          tags: [tagOf(url)],
          ...(access === 'none'
            ? {}
            : { security: [{ accessToken: [] }, ...(route.config?.orCookie ? [{ sessionCookie: [] }] : [])] }),
          'x-access': access,
          ...(access !== 'none' && { 'x-token-scope': tokenScopeOf(String(route.method), route) }),
        } as FastifySchema,
      }
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      const { openapiObject } = document
      const paths = Object.entries(openapiObject.paths ?? {}) as [string, PathItem][]
      for (const [url, item] of paths) complete(url, item)
      return openapiObject
    },
  })
}

/** Routes are grouped by the first part of their path. */
const tagOf = (url: string) => /^\/([\w-]+)/.exec(url)?.[1] ?? 'other'

/** `GET /openapi.json`: the description of this app's own routes. A gateway in a cluster merges those of all services. */
export function serveOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', { config: { access: 'none' }, schema: DescribeApi }, async () => app.swagger())
}

export const DescribeApi = {
  summary: 'This description',
  response: {
    200: {
      description: 'An OpenAPI 3.1 document',
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
  },
}

/** Adds `null` to the types of optional fields, because `compileValidator` treats it as absent. */
function withNulls(schema: RequestSchema): RequestSchema {
  const { properties, required = [], items } = schema
  return {
    ...schema,
    ...(items && { items: withNulls(items) }),
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [
          name,
          required.includes(name) ? withNulls(property) : orNull(withNulls(property)),
        ]),
      ),
    }),
  }
}

const orNull = (schema: RequestSchema): RequestSchema => ({
  ...schema,
  type: [schema.type ?? 'string', 'null'].flat(),
  ...(schema.enum && { enum: [...schema.enum, null] }),
})

/** A parameter with a default is not required. */
const withDefaults = (schema: RequestSchema): RequestSchema => ({
  ...schema,
  required: (schema.required ?? []).filter((name) => schema.properties?.[name]?.default === undefined),
})

interface Response {
  description?: string
  headers?: object
  $ref?: string
}
interface Operation {
  summary?: string
  description?: string
  requestBody?: { required?: boolean; content: Record<string, { schema?: RequestSchema }> }
  responses?: Record<string, Response>
  'x-access'?: Access
}
type PathItem = Record<string, Operation>

/** Adds to the operations of a path what is common to all routes: HEAD beside GET, and the refusals that any request may get. */
function complete(url: string, item: PathItem): void {
  for (const [method, operation] of Object.entries(item)) {
    const statuses = [...Object.keys(operation.responses ?? {}), ...refusalsOfAny(url, method, operation['x-access'])]
    operation.responses = Object.fromEntries(
      [...new Set(statuses)].sort().map((status) => {
        const own = operation.responses?.[status]
        if (!own || isRefusal(own)) return [status, { $ref: `#/components/responses/${refusals[status]!.name}` }]
        return [status, own.description === unnamed ? { ...own, description: 'Done' } : own]
      }),
    )
    const body = operation.requestBody?.content['application/json']?.schema
    if (body) operation.requestBody!.required = (body.required ?? []).length > 0
  }
  if (item.get && !item.head) item.head = headOf(item.get)
}

/** The plugin's description for a response whose schema has none. */
const unnamed = 'Default Response'

/** The statuses that come from parsing, identity and rate limits, not from the route itself. */
function refusalsOfAny(url: string, method: string, access: Access | undefined): string[] {
  const isHealth = url.startsWith('/health')
  return [
    '400',
    ...(access === 'none' ? [] : ['401']),
    '403',
    ...(method === 'get' || method === 'head' ? [] : ['408', '413', '415']),
    ...(isHealth ? [] : ['429', '503']),
    '500',
  ]
}

const isRefusal = ({ description }: Response) => description === (ErrorBody as { description?: string }).description

function headOf({ summary, description: _description, responses = {}, ...get }: Operation): Operation {
  const withoutBody = ([status, response]: [string, Response]): [string, Response] => [
    status,
    { description: response.description ?? refusals[status]!.description, ...headersOf(status) },
  ]
  return {
    ...get,
    summary: `Like GET, without the body${summary ? `: ${summary}` : ''}`,
    responses: Object.fromEntries(Object.entries(responses).map(withoutBody)),
  }
}

interface Refusal {
  name: string
  description: string
  header?: [name: string, description: string, type: 'integer' | 'string']
}

const retryAfter: Refusal['header'] = ['Retry-After', 'Seconds after which the client may try again', 'integer']
/** All refusals by status. */
const refusals: Record<string, Refusal> = {
  400: {
    name: 'BadRequest',
    description: 'Something in the request is malformed, missing or not allowed. U+0000 is never allowed',
  },
  401: { name: 'Unauthorized', description: 'No credentials, or they are not valid, expired or revoked' },
  403: {
    name: 'Forbidden',
    description: 'The caller may not do this. In dev mode: the request does not come from this machine',
  },
  404: { name: 'NotFound', description: 'There is no such resource, or no such address' },
  408: {
    name: 'RequestTimeout',
    description: 'The body arrived too slowly. The request was not carried out and may be sent again',
  },
  409: {
    name: 'Conflict',
    description: 'A request with the same Idempotency-Key is still running',
    header: retryAfter,
  },
  413: { name: 'ContentTooLarge', description: 'The body is larger than this route allows' },
  415: {
    name: 'CompressedBody',
    description: 'The body is compressed, as its header Content-Encoding says',
    header: ['Accept-Encoding', 'Always `identity`', 'string'],
  },
  416: {
    name: 'RangeNotSatisfiable',
    description: 'The header Range asks for bytes beyond the end',
    header: ['Content-Range', 'The size of the file in bytes: `bytes */<size>`', 'string'],
  },
  429: { name: 'TooManyRequests', description: 'Too many requests. This one was not carried out', header: retryAfter },
  500: { name: 'ServerError', description: 'An error of the server' },
  503: {
    name: 'Unavailable',
    description: 'The server or one of its dependencies cannot answer right now',
    header: retryAfter,
  },
}

const headersOf = (status: string) => {
  const [name, description, type] = refusals[status]?.header ?? []
  return name === undefined ? {} : { headers: { [name]: { description, schema: { type } } } }
}

function refusalResponses() {
  return Object.fromEntries(
    Object.entries(refusals).map(([status, { name, description }]) => [
      name,
      {
        description,
        ...headersOf(status),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  )
}
