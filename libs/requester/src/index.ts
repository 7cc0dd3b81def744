export { RequestFailed } from './request-failed.ts'
export {
  createRequester,
  type OutboundResponse,
  type Requester,
  type RequesterOptions,
} from './requester.ts'
