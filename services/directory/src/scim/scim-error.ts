import { asRefusal } from '@parley/service'

/** The detail codes of RFC 7644, table 9, that are used here. */
export type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'

/** A refusal in the form of SCIM. */
export class ScimError extends Error {
  override readonly name = 'ScimError'
  readonly status: number
  readonly scimType: ScimType | undefined

  constructor(status: number, detail: string, scimType?: ScimType) {
    super(detail)
    this.status = status
    this.scimType = scimType
  }
}

/** The response to a refused request (RFC 7644, 3.12). An `ApiError` gets the SCIM detail code that fits. */
export function scimErrorOf(error: Error): { status: number; retryAfter?: number | undefined; body: object } {
  const refusal = error instanceof ScimError ? error : fromRefusal(error)
  const { status, message: detail, scimType } = refusal
  return {
    status,
    retryAfter: error instanceof ScimError ? undefined : asRefusal(error).retryAfter,
    body: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType && { scimType }),
      detail,
    },
  }
}

function fromRefusal(error: Error): ScimError {
  const { status, code, message } = asRefusal(error)
  if (code === 'last_admin') return new ScimError(409, message, 'mutability')
  if (code === 'duplicate') return new ScimError(409, message, 'uniqueness')
  return new ScimError(status, message, status === 400 ? 'invalidValue' : undefined)
}
