import type { Server } from 'node:http'

/** The part of an OpenAPI document that is compared with replies. */
export interface Description {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>
}

/**
 * Watches all replies of a server, and collects those whose route or status its OpenAPI description does not have. The
 * set grows while the server runs.
 */
export function noteUndescribed(server: Server, { paths }: Description): Set<string> {
  const undescribed = new Set<string>()
  const routes = Object.entries(paths)
    .map(([path, operations]) => ({ path, operations, form: formOf(path), parameters: path.split('{').length - 1 }))
    // A fixed part is more specific than a named one.
    .sort((a, b) => a.parameters - b.parameters)

  server.on('request', (request, response) => {
    const method = request.method!.toLowerCase()
    const [address = ''] = request.url!.split('?')
    response.once('finish', () => {
      const found = routes.find(({ form, operations }) => form.test(address) && operations[method])
      const isDescribed = found
        ? found.operations[method]!.responses[response.statusCode] !== undefined
        : response.statusCode >= 400 || method === 'options' || describedElsewhere.test(address)
      if (!isDescribed) undescribed.add(`${request.method} ${found?.path ?? address} answers ${response.statusCode}`)
    })
  })
  return undescribed
}

/** The pages of the documentation, and SCIM, which describes itself at /scim/v2/Schemas. */
const describedElsewhere = /^\/(docs|scim\/v2)\//

const formOf = (path: string) =>
  new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
