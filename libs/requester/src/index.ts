export { type FailureReason, RequestFailed } from './request-failed.ts'
export {
  createRequester,
  type OutboundRequest,
  type OutboundResponse,
  type Requester,
  type RequesterOptions,
} from './requester.ts'
