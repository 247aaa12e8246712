// Words of webhook tools.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'tools.explain':
      'A webhook tool is a URL of yours that models can call. A persona lists the tools that it ' +
      'may use.',
    'tools.new': 'New tool',
    'tools.edit': 'Edit tool',
    'tools.name_hint': 'The name that the model uses: letters, digits, _ and -.',
    'tools.description': 'Description',
    'tools.description_hint': 'The model reads it to decide when to call the tool.',
    'tools.parameters': 'Parameters',
    'tools.parameters_hint': 'The JSON Schema of an object.',
    'tools.timeout': 'Timeout in seconds',
    'tools.timeout_short': 'Timeout',
    'tools.repeatable': 'Retry if no answer arrives',
    'tools.repeatable_hint': 'Up to three attempts with the same webhook-id.',
    'tools.is_repeatable': 'retries',
    'tools.active_hint': 'New runs do not get an inactive tool.',
    'tools.remove_text':
      'New runs no longer get {name}. Calls of it in other runs fail with tool.unknown.',
    'tools.try': 'Try',
    'tools.persona': 'Persona',
    'tools.no_persona': 'No active persona has this tool, and a test run needs one.',
    'tools.make_persona': 'Create a persona with only this tool',
    'tools.try_persona': 'Test of {name}',
    'tools.try_message': 'Call the tool {name} with the arguments {arguments}',
  },
  {
    'tools.explain': 'Webhook 工具是模型可以调用的您的 URL。人设会列出可用的工具。',
    'tools.new': '新建工具',
    'tools.edit': '编辑工具',
    'tools.name_hint': '模型使用的名称：字母、数字、_ 和 -。',
    'tools.description': '说明',
    'tools.description_hint': '模型据此判断何时调用。',
    'tools.parameters': '参数',
    'tools.parameters_hint': '对象的 JSON Schema。',
    'tools.timeout': '超时（秒）',
    'tools.timeout_short': '超时',
    'tools.repeatable': '未收到响应时重试',
    'tools.repeatable_hint': '最多尝试三次，webhook-id 不变。',
    'tools.is_repeatable': '可重试',
    'tools.active_hint': '已停用的工具不会提供给新的运行。',
    'tools.remove_text': '新的运行将不再获得 {name}，其他运行对它的调用会返回 tool.unknown。',
    'tools.try': '试用',
    'tools.persona': '人设',
    'tools.no_persona': '没有启用的人设拥有此工具，而试用需要一个人设。',
    'tools.make_persona': '创建仅包含此工具的人设',
    'tools.try_persona': '试用 {name}',
    'tools.try_message': '请调用工具 {name}，参数为 {arguments}',
  },
);
